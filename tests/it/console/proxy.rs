//! The console behind a proxy that authenticates users.

use crate::command::aizuchi;
use crate::console::harness::client;
use crate::program::Home;

#[tokio::test]
async fn where_only_a_proxy_signs_people_in_there_are_no_links() {
    let home = Home::new(0.0);
    let key = "SELECT count(*) FROM bookmarks WHERE place = 'console key' AND value <> ''";
    assert_eq!(home.start().stop(), Some(0));
    home.until_kept(key, 1).await;
    let config = std::fs::read_to_string(home.config()).unwrap();
    let proxy = "\nhttp:\n  trusted_proxies: [127.0.0.1]\n  proxy_sign_in: {header: X-Forwarded-Email, admins: [mia]}\n";
    std::fs::write(home.config(), config.replacen("\nhttp:\n", proxy, 1)).unwrap();
    let program = home.start();
    home.until_kept(key, 0).await;
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).args(["console", "link"]);
    let printed = command.assert().failure().get_output().stderr.clone();
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("people sign in at the proxy"), "{printed}");
    assert_eq!(program.stop(), Some(0));
}

/// Behind a proxy that sends no user name there is no sign-in page, so there is no redirect to it.
#[tokio::test]
async fn only_whom_the_proxy_names_gets_in() {
    let home = Home::new(0.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let proxy = "\nhttp:\n  trusted_proxies: [127.0.0.1]\n  proxy_sign_in: {header: X-Forwarded-Email, admins: [mia], viewers: [ken]}\n";
    std::fs::write(home.config(), config.replacen("\nhttp:\n", proxy, 1)).unwrap();
    let program = home.start();
    let client = client();
    for (name, page, status) in [
        (None, "/console", 403),
        (Some("nobody"), "/console", 403),
        (Some("mia"), "/console", 200),
        (Some("mia"), "/console/persona", 200),
        (Some("ken"), "/console/figures", 200),
    ] {
        let request = client.get(format!("{}{page}", program.address));
        let request =
            request.header("x-forwarded-for", "203.0.113.9").header("accept", "text/html");
        let request = match name {
            Some(name) => request.header("x-forwarded-email", name),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let (found, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert_eq!(found, status, "{name:?} {page}: {text}");
        assert_eq!(name.is_none(), text.contains("X-Forwarded-Email"), "{name:?} {page}: {text}");
    }
    assert_eq!(program.stop(), Some(0));
}
