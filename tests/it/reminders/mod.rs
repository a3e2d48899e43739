//! Reminders as people meet them: a year of them against an oracle, kills between any two steps of a
//! delivery, what users of other programs complained of, and secrets.
//!
//! | what users saw elsewhere | proven by |
//! |---|---|
//! | an hour off after a change of clocks | `year`; `service::tests::telling::the_time_on_the_wall_stays_over_both_changes_of_clocks` |
//! | twice in the night that is an hour longer, not at all in the shorter one | the same |
//! | a snoozed weekly reminder comes twice the next week | `year`; `service::tests::telling::a_snooze_is_one_more_telling_and_leaves_the_rule_alone` |
//! | a restart sends again what was sent | `complaints::what_was_sent_is_not_sent_again_after_restarts`, `killed` |
//! | duplicates gather with edits | `complaints::ten_edits_and_five_reloads_make_one_message` |
//! | after quiet hours the backlog comes one by one | `service::tests::telling::what_falls_into_quiet_hours_comes_at_their_end_in_one_message` |
//! | quiet hours hold back what was set for 01:30 | `service::tests::telling::what_a_person_set_for_the_night_and_what_is_urgent_come_in_quiet_hours` |
//! | quiet hours that are none are found out for each message | `complaints::quiet_hours_that_are_none_are_an_error_when_they_are_read` |
//! | 429 means lost | `complaints::a_sink_that_asks_for_time_gets_it_and_loses_nothing` |
//! | the 31st slips to the 28th for good | `year`; `complaints::times_are_those_of_the_named_zone_wherever_the_daemon_runs` |
//! | a refusal with the status of a success is a success | `complaints::a_refusal_with_the_status_of_a_success_is_no_success` |
//! | accepted, not delivered later, and nobody is told | `complaints::what_waits_for_a_sink_that_is_removed_is_dead_with_the_reason` |
//! | an all-day event in another zone is told at the wrong hour | `complaints::times_are_those_of_the_named_zone_wherever_the_daemon_runs` |
//! | the daily reminder drifts, or comes again after a change of the zone | the same, and `year` |
//! | the machine slept: lost, or 42 hours late, or twice | `year`; `complaints::what_was_due_while_the_daemon_was_down_goes_by_its_policy_and_says_how_late_it_is` |
//! | told once, to nobody | `complaints::a_webhook_that_fails_is_tried_again_and_what_never_gets_through_can_be_sent_again` |

mod complaints;
mod judge;
mod killed;
mod oracle;
mod place;
mod plan;
mod receiver;
mod secrecy;
mod world;
mod year;
