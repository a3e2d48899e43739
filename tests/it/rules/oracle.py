"""Evaluates rules with python-dateutil: a JSON list of iCalendar texts in, their instants out."""

import itertools
import json
import sys
import zoneinfo

from dateutil.rrule import rrulestr


def instants(text, n):
    rule = rrulestr(text, forceset=True, tzids=zoneinfo.ZoneInfo)
    # A time that is skipped is read with the offset before the gap, one that comes twice is the
    # first: what PEP 495 does with fold=0.
    return [int(time.timestamp()) for time in itertools.islice(rule, n)]


def main():
    texts = json.load(sys.stdin)
    json.dump([instants(text, int(sys.argv[1])) for text in texts], sys.stdout)


main()
