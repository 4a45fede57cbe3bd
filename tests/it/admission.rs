//! Access from other machines: the token for pages, and the port for health checks.

use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE};
use reqwest::{Client, StatusCode};
use serde_json::json;

use crate::command::refusal;
use crate::program::Home;
use aizuchi_harness::net::{free_port, http};

const TOKEN: &str = "open-sesame-0123456789";

/// A home whose pages are open to other machines, with a token.
fn open_home() -> Home {
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let config = config.replace("127.0.0.1:0", &format!("0.0.0.0:0\n  token: {TOKEN}"));
    std::fs::write(home.config(), config).unwrap();
    home
}

#[tokio::test]
async fn the_token_grants_access() {
    let home = open_home();
    let program = home.start();
    let port = program.address.rsplit_once(':').unwrap().1;
    let address = format!("http://127.0.0.1:{port}");
    http();
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let get = |path: &str| client.get(format!("{address}{path}")).header(HOST, "aizuchi.example");

    // Without the token, a browser is redirected and a program gets an error.
    for page in ["/", "/decisions/1"] {
        let answer = get(page).send().await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()[LOCATION]),
            (StatusCode::SEE_OTHER, &"/login".parse().unwrap())
        );
    }
    for path in ["/api/channels", "/metrics", "/events"] {
        let answer = get(path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    for path in ["/live", "/ready", "/login", "/static/paper.css"] {
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

    // A page of another origin cannot use the browser's cookie.
    let foreign = client
        .post(format!("{address}/api/channels"))
        .header(COOKIE, cookie)
        .header(ORIGIN, "https://evil.example")
        .json(&json!({ "name": "evil" }));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
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
    for (path, status) in
        [("/live", 200), ("/ready", 200), ("/", 404), ("/api/channels", 404), ("/metrics", 404)]
    {
        let request = client.get(format!("http://{outside}:{port}{path}"));
        let answer = request.header(HOST, "10.1.2.3").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    assert_eq!(program.stop(), Some(0));
}

#[test]
fn open_pages_without_a_token_are_refused() {
    let stderr = refusal("http:\n  listen: 0.0.0.0:0\n");
    assert!(stderr.contains("http.token must be set"), "{stderr}");
}
