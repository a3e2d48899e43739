//! Which addresses a service named in the configuration may have.
//!
//! What is sent there is somebody's memory, so it goes to this machine, to an address the
//! configuration names, or encrypted to a public one; never by surprise into the network around.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine.
    Loopback,
    /// The network around, or one for special uses (private, link-local, shared, reserved,
    /// multicast): only if configuration names it.
    Private,
    /// The internet.
    Public,
}

/// How far away `address` is. Addresses that carry another one inside count as that one.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => reach_v4(inner),
            None if address.is_loopback() => Reach::Loopback,
            // Global unicast is 2000::/3; of it, 2001::/23 and 2001:db8::/32 are for special uses
            // (IANA IPv6 Special-Purpose Address Registry).
            None => {
                let [a, b, ..] = address.segments();
                let is_special = a == 0x2001 && (b < 0x0200 || b == 0x0db8);
                if a & 0xe000 == 0x2000 && !is_special { Reach::Public } else { Reach::Private }
            }
        },
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    // The ranges of the IANA IPv4 Special-Purpose Address Registry that are not global.
    let is_special = a == 0
        || a == 10
        || (a == 100 && b & 0xc0 == 64)
        || (a == 169 && b == 254)
        || (a == 172 && b & 0xf0 == 16)
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 198 && b & 0xfe == 18)
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224;
    match a {
        127 => Reach::Loopback,
        _ if is_special => Reach::Private,
        _ => Reach::Public,
    }
}

/// The IPv4 address inside a mapped (`::ffff:0:0/96`), translated (`64:ff9b::/96`, RFC 6052) or 6to4
/// (`2002::/16`) address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(of(high, low))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

/// An address, or the addresses that share its first bits (`192.168.1.0/24`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    n_bits: u32,
}

impl Network {
    /// Whether the address is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differing = base.to_bits() ^ address.to_bits();
                differing.checked_shr(32 - self.n_bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differing = base.to_bits() ^ address.to_bits();
                differing.checked_shr(128 - self.n_bits).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(address)) => {
                embedded_v4(address).is_some_and(|inner| self.contains(IpAddr::V4(inner)))
            }
            (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "an address like 192.168.1.20 or a network like 192.168.1.0/24";
        let refuse = || format!("{expected}, not `{text}`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = address.parse().map_err(|_| refuse())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let n_bits = match bits {
            Some(bits) => bits.parse().ok().filter(|n| *n <= most).ok_or_else(refuse)?,
            None => most,
        };
        Ok(Self { base, n_bits })
    }
}

/// Whether something may be sent to `address`.
///
/// # Errors
/// Why not; `key` is the configuration key that would allow it.
pub fn permit(
    address: IpAddr,
    is_encrypted: bool,
    allowed: &[Network],
    key: &str,
) -> Result<(), String> {
    match reach(address) {
        Reach::Loopback => Ok(()),
        Reach::Private if allowed.iter().any(|network| network.contains(address)) => Ok(()),
        Reach::Private => Err(format!(
            "{address} is no address of this machine and no public one: if it is yours, add \
             \"{address}\" to {key}"
        )),
        Reach::Public if is_encrypted => Ok(()),
        Reach::Public => {
            Err(format!("{address} is a public address: memories go there by https only"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_far_as_the_registries_say() {
        for (address, expected) in [
            ("127.0.0.1", Reach::Loopback),
            ("127.255.0.3", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("0.0.0.0", Reach::Private),
            ("::", Reach::Private),
            ("10.1.2.3", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("100.128.0.1", Reach::Public),
            ("169.254.169.254", Reach::Private),
            ("::ffff:169.254.169.254", Reach::Private),
            ("64:ff9b::a9fe:a9fe", Reach::Private),
            ("2002:c0a8:0101::1", Reach::Private),
            ("172.15.0.1", Reach::Public),
            ("172.16.0.1", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.1.20", Reach::Private),
            ("192.0.0.8", Reach::Private),
            ("192.0.1.1", Reach::Public),
            ("198.19.0.1", Reach::Private),
            ("224.0.0.1", Reach::Private),
            ("255.255.255.255", Reach::Private),
            ("8.8.8.8", Reach::Public),
            ("fe80::1", Reach::Private),
            ("fd00::1", Reach::Private),
            ("ff02::1", Reach::Private),
            ("2001:db8::1", Reach::Private),
            ("2606:4700::1111", Reach::Public),
        ] {
            assert_eq!(reach(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_network_holds_the_addresses_with_its_bits() {
        for (network, address, expected) in [
            ("192.168.1.20", "192.168.1.20", true),
            ("192.168.1.20", "192.168.1.21", false),
            ("192.168.1.0/24", "192.168.1.255", true),
            ("192.168.1.0/24", "192.168.2.0", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("10.0.0.0/8", "::ffff:10.9.9.9", true),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "::2", true),
            ("::/0", "1.2.3.4", false),
        ] {
            let found = network.parse::<Network>().unwrap().contains(address.parse().unwrap());
            assert_eq!(found, expected, "{network} {address}");
        }
        for text in ["", "host", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn memories_go_home_where_allowed_or_encrypted() {
        let allowed = ["192.168.1.0/24".parse().unwrap()];
        for (address, is_encrypted, expected) in [
            ("127.0.0.1", false, ""),
            ("192.168.1.7", false, ""),
            ("192.168.2.7", true, "add \"192.168.2.7\" to embed.endpoint.allow_private"),
            ("8.8.8.8", true, ""),
            ("8.8.8.8", false, "https only"),
        ] {
            let key = "embed.endpoint.allow_private";
            let refusal = permit(address.parse().unwrap(), is_encrypted, &allowed, key).err();
            let refusal = refusal.unwrap_or_default();
            assert!(
                if expected.is_empty() { refusal.is_empty() } else { refusal.contains(expected) },
                "{address}: {refusal}"
            );
        }
    }
}
