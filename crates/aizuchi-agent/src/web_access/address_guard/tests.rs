use super::*;

fn network(text: &str) -> IpNetwork {
    IpNetwork::try_from(text.to_owned()).unwrap()
}

fn public_only() -> AddressGuard {
    AddressGuard::new(Vec::new(), &[])
}

/// One of each kind of IPv4 address that is not public.
const INTERNAL_V4: [[u8; 4]; 24] = [
    [0, 0, 0, 0],
    [0, 1, 2, 3],
    [10, 0, 0, 5],
    [10, 255, 255, 255],
    [100, 64, 0, 1],
    [100, 100, 100, 200],
    [127, 0, 0, 1],
    [127, 127, 127, 127],
    [168, 63, 129, 16],
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [172, 16, 0, 1],
    [172, 31, 255, 254],
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [192, 88, 99, 1],
    [192, 168, 1, 1],
    [198, 18, 0, 1],
    [198, 19, 255, 254],
    [198, 51, 100, 1],
    [203, 0, 113, 1],
    [224, 0, 0, 1],
    [240, 0, 0, 1],
    [255, 255, 255, 255],
];

/// Returns the spellings of an IPv4 address, in IPv4 and in IPv6.
fn spellings([a, b, c, d]: [u8; 4]) -> Vec<String> {
    let number = u32::from_be_bytes([a, b, c, d]);
    let (high, low) = (number >> 16, number & 0xffff);
    let rest = number & 0x00ff_ffff;
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{number}"),
        format!("0x{number:x}"),
        format!("0X{number:08X}"),
        format!("0{number:o}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("000{a:o}.000{b:o}.000{c:o}.000{d:o}"),
        format!("{a}.{rest}"),
        format!("0x{a:x}.{rest}"),
        format!("{a}.{b}.{low}"),
        format!("{a}.0x{b:x}.0{low:o}"),
        // Full-width characters and other full stops
        format!("{a}。{b}。{c}。{d}"),
        format!("%30x{number:x}"),
        format!("[::ffff:{a}.{b}.{c}.{d}]"),
        format!("[::ffff:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{high:x}:{low:x}]"),
        format!("[::{a}.{b}.{c}.{d}]"),
        format!("[::ffff:0:{high:x}:{low:x}]"),
        format!("[64:ff9b::{high:x}:{low:x}]"),
        format!("[64:ff9b:1::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("[2001:0:{high:x}:{low:x}::1]"),
    ]
}

/// Other addresses that are refused.
const REFUSED: [(&str, RefusedAddress); 72] = [
    ("http://[::]/", RefusedAddress::Internal),
    ("http://[::1]/", RefusedAddress::Internal),
    ("http://[0:0:0:0:0:0:0:1]/", RefusedAddress::Internal),
    ("http://[fe80::1]/", RefusedAddress::Internal),
    ("http://[fec0::1]/", RefusedAddress::Internal),
    ("http://[fc00::1]/", RefusedAddress::Internal),
    ("http://[fd12:3456::1]/", RefusedAddress::Internal),
    ("http://[fd00:ec2::254]/latest/meta-data/", RefusedAddress::Internal),
    ("http://[ff02::1]/", RefusedAddress::Internal),
    ("http://[100::1]/", RefusedAddress::Internal),
    ("http://[2001:db8::1]/", RefusedAddress::Internal),
    ("http://[3fff:123::1]/", RefusedAddress::Internal),
    ("http://[2001:2::1]/", RefusedAddress::Internal),
    ("http://[2001:10::1]/", RefusedAddress::Internal),
    ("http://[2001:20::1]/", RefusedAddress::Internal),
    ("http://[5f00::1]/", RefusedAddress::Internal),
    ("http://[4000::1]/", RefusedAddress::Internal),
    ("http://[fe80::1%25eth0]/", RefusedAddress::NoAddress),
    ("http://127.1/", RefusedAddress::Internal),
    ("http://127.0.1/", RefusedAddress::Internal),
    ("http://0/", RefusedAddress::Internal),
    ("http://0x7f.1/", RefusedAddress::Internal),
    ("http://017700000001/", RefusedAddress::Internal),
    ("http:127.0.0.1/", RefusedAddress::Internal),
    ("http:/127.0.0.1/", RefusedAddress::Internal),
    ("http:\\\\127.0.0.1\\", RefusedAddress::Internal),
    ("http:///127.0.0.1/", RefusedAddress::Internal),
    ("http://１２７.０.０.１/", RefusedAddress::Internal),
    ("http://①②⑦.⓪.⓪.①/", RefusedAddress::Internal),
    ("http://localhost/", RefusedAddress::Internal),
    ("http://LOCALHOST./", RefusedAddress::Internal),
    ("http://ｌｏｃａｌｈｏｓｔ/", RefusedAddress::Internal),
    ("http://app.localhost/", RefusedAddress::Internal),
    ("http://localhost.localdomain/", RefusedAddress::Internal),
    ("http://printer.local/", RefusedAddress::Internal),
    ("http://router.lan/", RefusedAddress::Internal),
    ("http://router.home/", RefusedAddress::Internal),
    ("http://router.home.arpa/", RefusedAddress::Internal),
    ("http://wiki.corp/", RefusedAddress::Internal),
    ("http://wiki.intranet/", RefusedAddress::Internal),
    ("http://vault.service.internal/", RefusedAddress::Internal),
    ("http://wiki/", RefusedAddress::Internal),
    ("http://metadata/", RefusedAddress::Internal),
    ("http://metadata.google.internal/computeMetadata/v1/", RefusedAddress::Internal),
    ("http://METADATA.google.internal./", RefusedAddress::Internal),
    ("http://metadata.goog/", RefusedAddress::Internal),
    ("http://metadata.azure.internal/", RefusedAddress::Internal),
    ("http://instance-data/latest/meta-data/", RefusedAddress::Internal),
    ("http://instance-data.ec2.internal/", RefusedAddress::Internal),
    ("http://kubernetes.default.svc.cluster.local/", RefusedAddress::Internal),
    ("https://user@example.com/", RefusedAddress::UserInfo),
    ("https://user:word@example.com/", RefusedAddress::UserInfo),
    ("https://:word@example.com/", RefusedAddress::UserInfo),
    ("https://example.com@127.0.0.1/", RefusedAddress::UserInfo),
    ("https://127.0.0.1\\@example.com/", RefusedAddress::Internal),
    ("https://example.com:22/", RefusedAddress::Port),
    ("https://example.com:8080/", RefusedAddress::Port),
    ("https://example.com:0/", RefusedAddress::Port),
    ("http://example.com:6379/", RefusedAddress::Port),
    ("https://example.com:99999/", RefusedAddress::NoAddress),
    ("ftp://example.com/", RefusedAddress::Scheme),
    ("file:///etc/passwd", RefusedAddress::Scheme),
    ("gopher://example.com:70/_x", RefusedAddress::Scheme),
    ("ws://example.com/", RefusedAddress::Scheme),
    ("data:text/plain,hello", RefusedAddress::Scheme),
    ("javascript:alert(1)", RefusedAddress::Scheme),
    ("dict://example.com:11211/stats", RefusedAddress::Scheme),
    ("view-source:http://example.com/", RefusedAddress::Scheme),
    ("example.com", RefusedAddress::NoAddress),
    ("//example.com/", RefusedAddress::NoAddress),
    ("http://", RefusedAddress::NoAddress),
    ("", RefusedAddress::NoAddress),
];

const READ: [(&str, &str); 20] = [
    ("https://example.com", "https://example.com/"),
    ("http://example.com/", "http://example.com/"),
    ("https://example.com:443/a", "https://example.com/a"),
    ("http://example.com:443/a", "http://example.com:443/a"),
    ("https://EXAMPLE.com./x?q=1#top", "https://example.com./x?q=1#top"),
    ("  https://example.com/a b  ", "https://example.com/a%20b"),
    ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
    ("https://local.example.com/", "https://local.example.com/"),
    ("https://internal.example.com/", "https://internal.example.com/"),
    ("http://1.1.1.1/", "http://1.1.1.1/"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://134744072/", "http://8.8.8.8/"),
    ("http://9.255.255.255/", "http://9.255.255.255/"),
    ("http://100.63.255.255/", "http://100.63.255.255/"),
    ("http://172.32.0.1/", "http://172.32.0.1/"),
    ("http://198.20.0.1/", "http://198.20.0.1/"),
    ("http://223.255.255.254/", "http://223.255.255.254/"),
    ("http://[2606:4700:4700::1111]/", "http://[2606:4700:4700::1111]/"),
    ("http://[2001:4860:4860::8888]/", "http://[2001:4860:4860::8888]/"),
    ("http://[2a00:1450::1]/", "http://[2a00:1450::1]/"),
];

#[test]
fn no_spelling_of_an_internal_address_is_read() {
    let guard = public_only();
    let mut count = 0;
    for address in INTERNAL_V4 {
        for host in spellings(address) {
            for url in [format!("http://{host}/"), format!("https://{host}/latest?x=1")] {
                let refused = guard.parse(&url);
                assert!(
                    matches!(refused, Err(RefusedAddress::Internal | RefusedAddress::NoAddress)),
                    "{url} is {refused:?}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn each_address_that_is_not_read_has_its_reason() {
    let guard = public_only();
    for (url, expected) in REFUSED {
        assert_eq!(guard.parse(url), Err(expected), "{url}");
    }
    let long = format!("https://example.com/{}", "a".repeat(MAX_ADDRESS_BYTES));
    assert_eq!(guard.parse(&long), Err(RefusedAddress::NoAddress));
}

#[test]
fn public_addresses_are_read() {
    let guard = public_only();
    for (url, expected) in READ {
        assert_eq!(guard.parse(url).map(String::from), Ok(expected.to_owned()), "{url}");
    }
}

/// Every address that a name resolves to has to be allowed.
#[test]
fn one_internal_address_spoils_a_name() {
    let resolved = |guard: &AddressGuard, host: &str, addresses: &[&str]| {
        let addresses = addresses.iter().map(|address| address.parse::<IpAddr>().unwrap());
        let addresses: Vec<SocketAddr> =
            addresses.map(|address| SocketAddr::new(address, 0)).collect();
        guard.check_resolved(host, &addresses)
    };
    let intranet = AddressGuard::new(vec![network("10.1.0.0/16")], &[]);
    let everything = AddressGuard::new(vec![network("0.0.0.0/0"), network("::/0")], &[]);
    let (ok, refused) = (Ok(()), Err(RefusedAddress::Internal));
    for (guard, host, addresses, expected) in [
        (&public_only(), "example.com", &["8.8.8.8", "2606:4700::1"][..], ok),
        (&public_only(), "example.com", &[], ok),
        (&public_only(), "example.com", &["8.8.8.8", "127.0.0.1"], refused),
        (&public_only(), "example.com", &["8.8.8.8", "::1"], refused),
        (&public_only(), "example.com", &["::ffff:10.1.0.1"], refused),
        (&public_only(), "example.com", &["64:ff9b::7f00:1"], refused),
        (&public_only(), "example.com", &["fe80::1"], refused),
        (&public_only(), "wiki.internal", &["8.8.8.8"], refused),
        (&intranet, "wiki.internal", &["10.1.2.3"], ok),
        (&intranet, "wiki", &["10.1.2.3"], ok),
        (&intranet, "wiki.internal", &["8.8.8.8"], refused),
        (&intranet, "wiki.internal", &["10.2.0.1"], refused),
        (&intranet, "example.com", &["10.1.2.3"], ok),
        (&intranet, "example.com", &["10.1.2.3", "10.2.0.1"], refused),
        (&everything, "example.com", &["192.168.1.1", "fd12::1"], ok),
        (&everything, "example.com", &["169.254.169.254"], refused),
        (&everything, "example.com", &["::ffff:169.254.169.254"], refused),
        (&everything, "example.com", &["fd00:ec2::254"], refused),
        (&everything, "metadata.google.internal.", &["8.8.8.8"], refused),
    ] {
        assert_eq!(resolved(guard, host, addresses), expected, "{host} {addresses:?}");
    }
}

#[test]
fn an_operator_may_allow_networks_and_ports() {
    let guard = AddressGuard::new(vec![network("10.1.0.0/16"), network("fd12::/16")], &[8443]);
    for (url, expected) in [
        ("http://10.1.2.3/", Ok(())),
        ("https://wiki.internal:8443/", Ok(())),
        ("https://wiki/", Ok(())),
        ("http://[fd12::1]/", Ok(())),
        ("http://10.2.0.1/", Err(RefusedAddress::Internal)),
        ("http://127.0.0.1:8443/", Err(RefusedAddress::Internal)),
        ("https://wiki.internal:8444/", Err(RefusedAddress::Port)),
        ("http://metadata.google.internal/", Err(RefusedAddress::Internal)),
        ("http://169.254.169.254/", Err(RefusedAddress::Internal)),
    ] {
        assert_eq!(guard.parse(url).map(|_| ()), expected, "{url}");
    }
}
