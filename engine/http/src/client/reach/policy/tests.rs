//! Addresses that may be reached, and those that may not.

use super::*;

fn policy(entries: &[&str]) -> AddressPolicy {
    let entries: Vec<String> = entries.iter().map(|text| (*text).to_owned()).collect();
    AddressPolicy::of(&entries).expect("entries")
}

fn refused(policy: &AddressPolicy, address: &str) -> Option<&'static str> {
    policy.refused(address.parse().expect(address))
}

#[test]
fn addresses_that_are_not_public_are_refused() {
    let strict = AddressPolicy::default();
    for address in [
        "0.0.0.0",
        "0.1.2.3",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.19.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:0:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::192.168.0.1",
        "64:ff9b:1::8.8.8.8",
        // 10.0.0.1, for a translator whose prefix has 48 bits.
        "64:ff9b:1:a00:0:100:808:808",
        "2002:7f00:1::",
        "2002:c0a8:101::5",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
        "4000::1",
    ] {
        assert!(refused(&strict, address).is_some(), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ] {
        assert_eq!(refused(&strict, address), None, "{address}");
    }
}

#[test]
fn entries_allow_networks_and_names() {
    let open = policy(&[
        "10.0.0.0/8",
        "192.168.1.7",
        "fd00::/8",
        "Api.Internal",
        "[::1]",
        "64:ff9b:1::/48",
    ]);
    for address in [
        "10.9.9.9",
        "192.168.1.7",
        "::ffff:10.1.1.1",
        "fd00::5",
        "::1",
        "64:ff9b:1:a00:0:100::",
    ] {
        assert_eq!(refused(&open, address), None, "{address}");
    }
    for address in ["192.168.1.8", "fc00::1", "127.0.0.1"] {
        assert!(refused(&open, address).is_some(), "{address}");
    }
    let loopback = ["127.0.0.1".parse().expect("an address")];
    assert_eq!(open.check("api.internal", &loopback), Ok(()));
    assert_eq!(open.check("api.internal.", &loopback), Ok(()));
    assert!(open.check("x.api.internal", &loopback).is_err());
    for wrong in [
        "",
        "10.0.0.0/33",
        "1.2.3",
        "a b",
        "http://a",
        "a..b",
        "*",
        "a:80",
    ] {
        assert!(AddressPolicy::of(&[wrong.to_owned()]).is_err(), "{wrong}");
    }
}

#[test]
fn developers_reach_their_own_machine_only() {
    let dev = AddressPolicy::default().with_loopback();
    for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(refused(&dev, address), None, "{address}");
    }
    assert!(refused(&dev, "10.0.0.1").is_some() && refused(&dev, "0.0.0.0").is_some());
}

#[test]
fn nothing_but_this_machine_may_be_reached() {
    let policy = AddressPolicy::only_own("the network is off");
    for host in ["localhost", "a.localhost.", "127.0.0.1", "[::1]"] {
        assert_eq!(policy.check_host(host), Ok(()), "{host}");
    }
    for host in ["example.com", "1.1.1.1", "localhost.example.com"] {
        let fault = policy.check_host(host).unwrap_err();
        assert!(
            fault
                .text
                .ends_with("is not this machine: the network is off")
        );
    }
}

#[test]
fn one_address_of_many_is_enough_and_the_error_has_the_line() {
    let public: IpAddr = "1.1.1.1".parse().expect("an address");
    let private: IpAddr = "10.0.0.5".parse().expect("an address");
    let policy = policy(&["localhost"]);
    let fault = policy.check("api.test", &[public, private]).unwrap_err();
    assert!(
        fault
            .text
            .ends_with(r#"write in [fetch]: allow = ["localhost", "api.test"]"#),
        "{fault}"
    );
    let fault = policy.check("10.0.0.5", &[private]).unwrap_err();
    assert!(
        fault.text.contains("10.0.0.5 is a private address"),
        "{fault}"
    );
    assert!(
        fault.text.ends_with(r#"allow = ["localhost", "10.0.0.5"]"#),
        "{fault}"
    );
}
