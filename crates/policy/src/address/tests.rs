use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn class(text: &str) -> AddressClass {
    AddressClass::of(text.parse().unwrap()).0
}

#[test]
fn req_e03_every_special_purpose_range_has_its_class() {
    use AddressClass::*;
    for (addresses, expected) in [
        ("0.0.0.0 0.255.255.255 ::", Unspecified),
        ("127.0.0.1 127.255.255.255 ::1", Loopback),
        (
            "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.1 192.168.255.255 fc00::1 fd12::1 fec0::1",
            Private,
        ),
        ("169.254.0.1 169.254.255.255 fe80::1 febf::1", LinkLocal),
        ("100.64.0.0 100.127.255.255", CarrierNat),
        ("198.18.0.0 198.19.255.255 2001:2::1", Benchmarking),
        ("192.0.2.1 198.51.100.1 203.0.113.255 2001:db8::1 3fff::1 3fff:fff::1", Documentation),
        ("224.0.0.1 239.255.255.255 ff02::1 ff0e::1", Multicast),
        ("255.255.255.255", Broadcast),
        ("240.0.0.0 255.255.255.254 4000::1 8000::1 e000::1 ::2:0:0:0 200::1 400::1 fe00::1", Reserved),
        (
            "192.0.0.0 192.0.0.255 192.31.196.1 192.52.193.1 192.175.48.1 2001:1::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff::1 2620:4f:8000::1 5f00::1",
            Protocol,
        ),
        (
            "192.88.99.1 64:ff9b:1:808:8:808:808:808 2001:0:808:808::f7f7:f7f7 2002:808:808::1 ::8.8.8.8 ::ffff:0:8.8.8.8",
            Translation,
        ),
        ("100::1 100:0:0:1::1", Discard),
        (
            "169.254.169.254 169.254.170.2 169.254.170.23 168.63.129.16 100.100.100.200 192.0.0.192 169.254.42.42",
            Metadata,
        ),
        ("fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 fd00:c1::a9fe:a9fe fe80::a9fe:a9fe", Metadata),
        (
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.1.1.1 128.0.0.1 172.15.0.1 172.32.0.1 223.255.255.255 192.0.1.1 198.17.1.1 198.20.1.1",
            Global,
        ),
        (
            "2606:4700::1111 2a00:1450::1 2001:200::1 2001:4860::8888 64:ff9b::8.8.8.8 ::ffff:8.8.8.8 2620:4f:8001::1",
            Global,
        ),
    ] {
        for address in addresses.split(' ') {
            assert_eq!(class(address), expected, "{address}");
        }
    }
}

fn carriers(inner: Ipv4Addr) -> Vec<(Ipv6Addr, Form)> {
    let v4 = u128::from(inner.to_bits());
    let prefix = |text: &str| text.parse::<Ipv6Addr>().unwrap().to_bits();
    let make = |bits: u128, form| (Ipv6Addr::from_bits(bits), form);
    vec![
        make(prefix("::ffff:0:0") | v4, Form::Mapped),
        make(prefix("::ffff:0:0:0") | v4, Form::Translated),
        make(prefix("64:ff9b::") | v4, Form::Nat64),
        make(prefix("64:ff9b:1::") | v4, Form::Nat64),
        make(prefix("64:ff9b:1::") | ((v4 >> 16) << 64) | ((v4 & 0xffff) << 40), Form::Nat64),
        make(prefix("64:ff9b:1:1100::") | ((v4 >> 24) << 64) | ((v4 & 0xff_ffff) << 32), Form::Nat64),
        make(prefix("64:ff9b:1:1111::") | (v4 << 24), Form::Nat64),
        make(prefix("2002::1") | (v4 << 80), Form::SixToFour),
        make(prefix("2001:0::808:808") | (v4 << 64), Form::TeredoServer),
        make(prefix("2001:0:808:808::") | (!v4 & 0xffff_ffff), Form::TeredoClient),
        make(prefix("2a00:1:2:3:0:5efe::") | v4, Form::Isatap),
        make(prefix("2a00:1:2:3:200:5efe::") | v4, Form::Isatap),
    ]
}

#[test]
fn req_e03_ipv6_forms_of_a_denied_address_are_denied() {
    for inner in
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1", "100.64.9.9", "0.1.2.3", "224.0.0.251"]
    {
        let inner: Ipv4Addr = inner.parse().unwrap();
        for (address, form) in carriers(inner) {
            let denied = DenyList::BuiltIn.check(address.into()).unwrap_err();
            // With several carried addresses another one may be the first that is found special.
            assert!(
                matches!(denied.reason, DenyReason::Class(_, found) if found == form || form == Form::Nat64),
                "{denied:?} {form:?}"
            );
        }
        let compatible = Ipv6Addr::from_bits(inner.to_bits().into());
        assert!(DenyList::BuiltIn.check(compatible.into()).is_err());
    }
}

#[test]
fn req_e03_an_empty_list_alone_switches_it_off() {
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    assert!(DenyList::default().check(loopback).is_err());
    assert_eq!(DenyList::Off.check(loopback).map(CheckedAddress::get), Ok(loopback));
    let ranges = DenyList::BuiltInAnd(vec![Cidr::parse("203.0.113.0/24").unwrap()]);
    assert!(ranges.check(loopback).is_err());
    assert!(ranges.check("169.254.169.254".parse().unwrap()).is_err());
    assert!(ranges.check("::ffff:169.254.169.254".parse().unwrap()).is_err());
}

#[test]
fn ranges_are_read_strictly() {
    assert_eq!(Cidr::parse("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
    assert_eq!(Cidr::parse("::1").unwrap().to_string(), "::1/128");
    assert!(Cidr::parse("0.0.0.0/0").unwrap().contains("9.9.9.9".parse().unwrap()));
    assert!(!Cidr::parse("0.0.0.0/0").unwrap().contains("::1".parse().unwrap()));
    assert_eq!(Cidr::parse("10.0.0.1/8"), Err(CidrError::HostBits));
    assert_eq!(Cidr::parse("10.0.0.0/33"), Err(CidrError::Length));
    assert_eq!(Cidr::parse("10.0.0.0/+8"), Err(CidrError::Length));
    assert_eq!(Cidr::parse("10.0.0.0/"), Err(CidrError::Length));
    assert_eq!(Cidr::parse("10.0/8"), Err(CidrError::Address));
    assert_eq!(Cidr::parse("example.com"), Err(CidrError::Address));
}

proptest! {
    #[test]
    fn req_e03_forms_of_the_users_own_ranges_are_denied(bits: u32, length in 1_u8..=32) {
        let network = Ipv4Addr::from_bits(bits & (u32::MAX << (32 - length)));
        let list = DenyList::BuiltInAnd(vec![Cidr::parse(&format!("{network}/{length}")).unwrap()]);
        let inside = Ipv4Addr::from_bits(bits);
        prop_assert!(list.check(inside.into()).is_err());
        for (address, _) in carriers(inside) {
            prop_assert!(list.check(address.into()).is_err(), "{}", address);
        }
    }

    /// The standard library knows fewer ranges, but what it calls special must be special here.
    #[test]
    fn what_the_standard_library_calls_special_is_never_global(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_documentation() || address.is_unspecified();
        if special {
            prop_assert_ne!(AddressClass::of(address.into()).0, AddressClass::Global);
        }
    }
}
