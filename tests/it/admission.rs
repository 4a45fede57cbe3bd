//! Access from other machines: the token for the pages and its sessions, and the port for health checks.

use aizuchi_harness::net::{free_port, http};
use futures_util::StreamExt;
use reqwest::header::{
    CACHE_CONTROL, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::command::refusal;
use crate::console::harness::client;
use crate::program::{Home, Program, next_poll};

const TOKEN: &str = "open-sesame-0123456789";

/// A client of the pages that does not follow redirects.
struct Visit {
    client: Client,
    address: String,
}

impl Visit {
    fn new(program: &Program) -> Self {
        let port = program.address.rsplit_once(':').unwrap().1;
        let client = client();
        Self { client, address: format!("http://127.0.0.1:{port}") }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.address)).header(HOST, "aizuchi.example")
    }

    fn sign_in(&self, token: &str) -> RequestBuilder {
        let form = self.client.post(format!("{}/login", self.address));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        form.body(format!("token={token}"))
    }

    /// Signs in and returns the cookie.
    async fn session(&self) -> String {
        let answer = self.sign_in(TOKEN).send().await.unwrap();
        let cookie = answer.headers()[SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    async fn sign_out(&self, cookie: &str) -> Response {
        let form = self.client.post(format!("{}/logout", self.address));
        form.header(COOKIE, cookie).send().await.unwrap()
    }
}

/// A home whose pages are open to other machines, with a token.
fn open_home() -> Home {
    open_home_behind("[]")
}

/// After a reload only the new token is valid; a user who signed in with the old one has to sign in again.
#[tokio::test]
async fn a_token_is_replaced_without_a_restart() {
    const NEW_TOKEN: &str = "shut-sesame-9876543210";
    let home = open_home();
    let program = home.start();
    let visit = Visit::new(&program);
    let cookie = visit.session().await;
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let with_cookie = || visit.get("/api/channels").header(COOKIE, &cookie);
    let with_token = |token: &str| visit.get("/api/channels").bearer_auth(token);
    assert_eq!(status(with_cookie()).await, 200);
    let mut events = visit.get("/events").header(COOKIE, &cookie).send().await.unwrap();
    assert_eq!(events.status(), 200);

    home.replace(TOKEN, NEW_TOKEN);
    home.reload_until(&program, r#""changed":"http.token"#, 1).await;
    assert_eq!(status(with_cookie()).await, 401);
    assert_eq!(status(with_token(TOKEN)).await, 401);
    assert_eq!(status(with_token(NEW_TOKEN)).await, 200);
    // Open streams end.
    let ended = async { while events.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.unwrap();

    // Without a token, the pages would be open to everyone, so removing it takes effect at the restart.
    home.replace(&format!("  token: {NEW_TOKEN}\n"), "");
    home.replace("0.0.0.0:0", "127.0.0.1:0");
    home.reload_until(&program, r#""keys":"http.listen, http.token"#, 1).await;
    assert_eq!(status(visit.get("/api/channels")).await, 401);
    assert_eq!(status(with_token(NEW_TOKEN)).await, 200);
    assert!(!home.log().contains("sesame"), "a token is in the log");
    assert_eq!(program.stop(), Some(0));
}

/// A home that trusts these proxies.
fn open_home_behind(proxies: &str) -> Home {
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let section = format!("0.0.0.0:0\n  token: {TOKEN}\n  trusted_proxies: {proxies}");
    std::fs::write(home.config(), config.replace("127.0.0.1:0", &section)).unwrap();
    home
}

#[tokio::test]
async fn the_token_grants_access() {
    let home = open_home();
    let program = home.start();
    let port = program.address.rsplit_once(':').unwrap().1;
    let address = format!("http://127.0.0.1:{port}");
    let client = client();
    let get = |path: &str| client.get(format!("{address}{path}")).header(HOST, "aizuchi.example");

    // Without the token, a browser is redirected and a program gets an error.
    for (page, sign_in) in [
        ("/", "/login"),
        ("/decisions/1", "/login?next=%2Fdecisions%2F1"),
        ("/console/queue?before=7", "/login?next=%2Fconsole%2Fqueue%3Fbefore%3D7"),
    ] {
        let answer = get(page).send().await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()[LOCATION]),
            (StatusCode::SEE_OTHER, &sign_in.parse().unwrap())
        );
    }
    for path in ["/api/channels", "/metrics", "/events"] {
        let answer = get(path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    for path in ["/live", "/ready", "/login", "/static/standalone.css"] {
        assert_eq!(get(path).send().await.unwrap().status(), StatusCode::OK, "{path}");
    }

    // A program sends the token with each request.
    let answer = get("/api/channels").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let answer = get("/api/channels").bearer_auth("open-sesame-9876543210").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);

    // A browser logs in once and gets a cookie.
    let login = |token: &str| {
        let form = format!("token={token}");
        client
            .post(format!("{address}/login"))
            .header(ORIGIN, &address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
    };
    assert_eq!(login("wrong").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let answer = login(TOKEN).send().await.unwrap();
    let cookie = answer.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let page = get("/").header(COOKIE, cookie).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);

    // With `no-referrer`, a browser would send the login form without an origin.
    assert_eq!(page.headers()[REFERRER_POLICY], "same-origin");

    // The form keeps the requested page, even after a wrong token, and leads there, but never to another site.
    for (next, expected) in [
        ("%2Fconsole%2Fqueue%3Fbefore%3D7", "/console/queue?before=7"),
        ("%2F%2Fevil.example", "/"),
        ("https%3A%2F%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        ("%2Fconsole%0D%0Ax%3A+y", "/"),
    ] {
        let is_carried = expected != "/";
        let shown = get(&format!("/login?next={next}")).send().await.unwrap();
        let refused = login(&format!("wrong&next={next}")).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        for page in [shown.text().await.unwrap(), refused.text().await.unwrap()] {
            assert_eq!(page.contains("value=\"/console/queue?before=7\""), is_carried, "{page}");
            assert!(!page.contains("evil.example"), "{page}");
        }
        let answer = login(&format!("{TOKEN}&next={next}")).send().await.unwrap();
        assert_eq!(answer.headers()[LOCATION], expected, "{next}");
    }

    // A page of another origin cannot use the browser's cookie.
    let foreign = client
        .post(format!("{address}/api/channels"))
        .header(COOKIE, cookie)
        .header(ORIGIN, "https://evil.example")
        .json(&json!({ "name": "evil" }));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
}

/// A browser sends no session along with a link on another site, so the page that it gets leads on by itself.
#[tokio::test]
async fn a_link_on_another_site_asks_nobody_to_sign_in_twice() {
    const ASKED: &str = "/login?next=%2Fconsole%2Fqueue";
    const AGAIN: &str = "/login?again=yes&next=%2Fconsole%2Fqueue";
    let home = open_home();
    let program = home.start();
    let visit = Visit::new(&program);
    let from = |site: &str, path: &str| {
        visit.get(path).header("sec-fetch-site", site).header("sec-fetch-mode", "navigate")
    };
    let shown = from("cross-site", ASKED).send().await.unwrap();
    assert_eq!(shown.status(), StatusCode::OK);
    assert_eq!(shown.headers()["refresh"], format!("0; url={AGAIN}"));
    let cookie = visit.session().await;
    let known = from("same-origin", AGAIN).header(COOKIE, cookie).send().await.unwrap();
    assert_eq!(known.headers()[LOCATION], "/console/queue");
    // Whoever is not signed in stays.
    for (site, path) in [("same-origin", AGAIN), ("cross-site", AGAIN), ("same-origin", ASKED)] {
        let shown = from(site, path).send().await.unwrap();
        assert_eq!(shown.status(), StatusCode::OK, "{site} {path}");
        assert!(shown.headers().get("refresh").is_none(), "{site} {path}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn a_sign_out_ends_the_session_and_its_event_streams() {
    let home = open_home();
    let program = home.start();
    let visit = Visit::new(&program);
    let (cookie, other) = (visit.session().await, visit.session().await);
    assert_ne!(cookie, other);
    let orders = visit.get("/api/orders").header(COOKIE, &cookie).send().await.unwrap();
    let orders: serde_json::Value = orders.json().await.unwrap();
    let newest = &orders["orders"][0];
    assert_eq!((&newest["kind"], &newest["value"]), (&"sign_in".into(), &"admin".into()));
    let status = async |cookie: &str| {
        visit.get("/api/channels").header(COOKIE, cookie).send().await.unwrap().status()
    };
    assert_eq!(status(&cookie).await, StatusCode::OK);
    let page = visit.get("/").header(COOKIE, &cookie).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("/logout"), "{page}");
    let events = visit.get("/events").header(COOKIE, &cookie).send().await.unwrap();

    let answer = visit.sign_out(&cookie).await;
    assert_eq!(answer.headers()[LOCATION], "/login");
    assert!(answer.headers()[SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    // The server ends the stream.
    let mut chunks = events.bytes_stream();
    while chunks.next().await.is_some_and(|chunk| chunk.is_ok()) {}
    assert_eq!(status(&cookie).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&other).await, StatusCode::OK);
}

#[tokio::test]
async fn a_cookie_is_secure_behind_tls() {
    let home = open_home();
    let program = home.start();
    let visit = Visit::new(&program);
    let plain = visit.sign_in(TOKEN).send().await.unwrap();
    let proxied = visit.sign_in(TOKEN).header("x-forwarded-proto", "https").send().await.unwrap();
    let is_secure =
        |answer: &Response| answer.headers()[SET_COOKIE].to_str().unwrap().contains("; Secure");
    assert!(!is_secure(&plain) && is_secure(&proxied));
}

#[tokio::test]
async fn guesses_wait_and_are_logged_without_the_guess() {
    let home = open_home_behind("[127.0.0.0/8]");
    let program = home.start();
    let visit = Visit::new(&program);
    let cookie = visit.session().await;
    // A trusted proxy names its clients.
    let guess = |token: &str| visit.sign_in(token).header("x-forwarded-for", "192.0.2.1");
    for number in 0..3 {
        let answer = guess(&format!("my-guess-{number}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    // Not even the right token is checked now, whichever way it is sent.
    let late = guess(TOKEN).send().await.unwrap();
    assert_eq!(late.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(late.headers().contains_key(RETRY_AFTER) && !late.headers().contains_key(SET_COOKIE));
    assert!(late.text().await.unwrap().contains("Too many wrong tokens"));
    let bearer = visit.get("/api/channels").bearer_auth(TOKEN);
    let refused = bearer.header("x-forwarded-for", "192.0.2.1").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    // Other clients are not affected.
    let bearer = visit.get("/api/channels").bearer_auth(TOKEN);
    let other = bearer.header("x-forwarded-for", "192.0.2.2").send().await.unwrap();
    assert_eq!(other.status(), StatusCode::OK);
    let signed_in = visit.get("/").header(COOKIE, &cookie).header("x-forwarded-for", "192.0.2.1");
    assert_eq!(signed_in.send().await.unwrap().status(), StatusCode::OK);
    let log = home.log();
    assert_eq!(log.matches("a client offered a wrong token").count(), 3, "{log}");
    assert!(
        log.contains("192.0.2.1") && !log.contains("my-guess") && !log.contains(TOKEN),
        "{log}"
    );
}

/// A client that can claim any address could guess without end.
#[tokio::test]
async fn guesses_of_a_peer_that_no_proxy_is_count_whatever_it_forwards() {
    let home = open_home_behind("[192.0.2.0/24]");
    let program = home.start();
    let visit = Visit::new(&program);
    for (number, status) in [(1, 401), (2, 401), (3, 401), (4, 429), (5, 429)] {
        let guess = visit.sign_in(&format!("my-guess-{number}"));
        let guess = guess.header("x-forwarded-for", format!("198.51.100.{number}, 192.0.2.1"));
        assert_eq!(guess.send().await.unwrap().status(), status, "{number}");
    }
}

/// A proxy in front of a local room without a token would open it to everyone.
#[tokio::test]
async fn a_room_without_a_token_answers_nothing_that_a_proxy_forwards() {
    let home = Home::new(1000.0);
    let program = home.start();
    for path in ["/", "/api/channels", "/events", "/ready"] {
        let direct = http().get(format!("{}{path}", program.address));
        assert_eq!(direct.send().await.unwrap().status(), 200, "{path}");
        for header in ["x-forwarded-for", "forwarded", "x-forwarded-host", "via"] {
            let proxied =
                http().get(format!("{}{path}", program.address)).header(header, "192.0.2.1");
            let refused = proxied.send().await.unwrap();
            assert_eq!(refused.status(), 403, "{path} {header}");
            assert!(refused.text().await.unwrap().contains("needs http.token"), "{path} {header}");
        }
    }
}

#[tokio::test]
async fn what_is_private_is_kept_by_no_cache_and_open_to_no_other_site() {
    let home = Home::new(1000.0);
    let program = home.start();
    let get = |path: &str| http().get(format!("{}{path}", program.address));
    for path in ["/", "/api/channels", "/api/dead-letters", "/events", "/metrics", "/ready", "/no"]
    {
        let answer = get(path).send().await.unwrap();
        assert_eq!(answer.headers()[CACHE_CONTROL], "no-store", "{path}");
        assert_eq!(answer.headers()["cross-origin-resource-policy"], "same-origin", "{path}");
    }
    for (path, site, mode, expected) in [
        ("/api/channels", "cross-site", "cors", 403),
        ("/api/channels", "same-site", "no-cors", 403),
        ("/api/channels", "cross-site", "navigate", 403),
        ("/static/room.js", "cross-site", "no-cors", 403),
        ("/events", "cross-site", "cors", 403),
        ("/", "cross-site", "navigate", 200),
        ("/api/channels", "same-origin", "cors", 200),
        ("/api/channels", "none", "navigate", 200),
    ] {
        let request = get(path).header("sec-fetch-site", site).header("sec-fetch-mode", mode);
        assert_eq!(request.send().await.unwrap().status(), expected, "{path} {site} {mode}");
    }
}

/// The reason may name a server or a workspace.
#[tokio::test]
async fn only_this_machine_and_the_token_learn_why_it_is_not_ready() {
    let home = open_home();
    let port = free_port();
    home.add(&format!("health_check:\n  port: {port}\n"));
    let program = home.start();
    let visit = Visit::new(&program);
    // Writes at startup must not run into the lock.
    while visit.get("/ready").bearer_auth(TOKEN).send().await.unwrap().status() != 200 {
        next_poll().await;
    }
    let lock = home.lock_database().await;
    let refused = json!({ "channel": "general", "user": "alice", "text": "hello" });
    let post = visit.client.post(format!("{}/api/messages", visit.address)).bearer_auth(TOKEN);
    assert_eq!(post.json(&refused).send().await.unwrap().status(), 503);

    let answer = async |request: RequestBuilder| {
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let unready = (503, json!({ "status": "unready" }));
    let health =
        async |path: &str| answer(http().get(format!("http://127.0.0.1:{port}{path}"))).await;
    assert_eq!(health("/ready").await, unready);
    let (status, body) = health("/health").await;
    assert_eq!((status, &body["status"]), (503, &json!("starting")), "{body}");
    assert!(!body.to_string().contains("database"), "{body}");
    assert_eq!(answer(visit.get("/ready")).await, unready);
    let proxied = visit.client.get(format!("{}/ready", visit.address)).header(HOST, "localhost");
    let proxied = proxied.header("x-forwarded-for", "::2");
    assert_eq!(answer(proxied).await, unready);
    let told = (503, json!({ "error": "the store is busy: it does not answer" }));
    assert_eq!(answer(visit.get("/ready").bearer_auth(TOKEN)).await, told);
    assert_eq!(answer(http().get(format!("{}/ready", visit.address))).await, told);
    drop(lock);
}

#[tokio::test]
async fn the_health_port_serves_health_checks_only() {
    let home = Home::new(1000.0);
    let port = free_port();
    home.add(&format!("health_check:\n  port: {port}\n"));
    let program = home.start();
    let client = http();
    // An address of this machine that other machines can reach, if it has one.
    let outside = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let outside = outside.connect("192.0.2.1:9").and_then(|()| outside.local_addr());
    let outside = outside.map_or("127.0.0.1".to_owned(), |address| address.ip().to_string());
    for (path, status, body) in [
        ("/live", 200, r#"{"status":"live"}"#),
        ("/ready", 200, r#"{"status":"ready"}"#),
        ("/available", 200, r#"{"status":"ready"}"#),
        ("/api/channels", 404, ""),
        ("/metrics", 404, ""),
    ] {
        let request = client.get(format!("http://{outside}:{port}{path}"));
        let answer = request.header(HOST, "10.1.2.3").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
        assert_eq!(answer.text().await.unwrap(), body, "{path}");
    }
    // In kotonoha's words, where it has them.
    for path in ["/health", "/"] {
        let answer = client.get(format!("http://{outside}:{port}{path}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let body = answer.json::<Value>().await.unwrap();
        assert_eq!(body, json!({ "status": "healthy", "sessions": 0 }), "{path}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn the_health_port_serves_metrics_if_that_is_configured() {
    let home = Home::new(1000.0);
    let port = free_port();
    home.add(&format!("health_check: {{port: {port}, metrics: true}}\n"));
    let program = home.start();
    let answer = http().get(format!("http://127.0.0.1:{port}/metrics")).send().await.unwrap();
    let text = answer.text().await.unwrap();
    assert!(
        text.contains("aizuchi_ready 1\n") && text.contains("aizuchi_standing_by 0\n"),
        "{text}"
    );
    assert_eq!(program.stop(), Some(0));
}

#[tokio::test]
async fn whether_it_is_available_is_asked_by_a_command() {
    let port = free_port();
    for health in [String::new(), format!("health_check: {{port: {port}}}\n")] {
        let home = Home::on(free_port(), 1000.0);
        home.add(&health);
        let ask = || {
            let mut command = crate::command::aizuchi();
            let asked = command.arg("--config").arg(home.config()).arg("health").output().unwrap();
            (asked.status.code(), String::from_utf8(asked.stdout).unwrap())
        };
        let (code, told) = ask();
        assert_eq!(code, Some(1));
        assert!(told.starts_with("not available: nothing answers at http://127.0.0.1:"), "{told}");
        let program = home.start();
        assert_eq!(ask(), (Some(0), "available\n".to_owned()));
        assert_eq!(program.stop(), Some(0));
    }
}

#[test]
fn open_pages_without_a_token_are_refused() {
    let stderr = refusal("http:\n  listen: 0.0.0.0:0\n");
    assert!(stderr.contains("http.token must be set"), "{stderr}");
}
