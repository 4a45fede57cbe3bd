//! Clients that open connections and send nothing, little or endlessly, or do not read the response.

use std::convert::Infallible;
use std::time::Duration;

use aizuchi_harness::net::{free_port, http};
use aizuchi_harness::providers::{self, ProviderResponse};
use aizuchi_model::ip_network::IpNetwork;
use aizuchi_web::peer::{Client, TrustedProxies};
use aizuchi_web::server::activity::Timeouts;
use aizuchi_web::server::{Server, ServerLimits};
use axum::body::{Body, Bytes};
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::program::Home;

const TIMEOUT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(150);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);
const PATIENT: Timeouts = Timeouts { head: LONG, idle: LONG, request: LONG, stalled: LONG };

/// A server in this process, which runs until this is dropped.
struct Serving {
    address: String,
    _stop: DropGuard,
}

impl Serving {
    async fn new(router: Router, sockets: usize, timeouts: Timeouts) -> Self {
        Self::behind(TrustedProxies::default(), router, sockets, timeouts).await
    }

    /// Starts a server with these trusted proxies.
    async fn behind(
        proxies: TrustedProxies,
        router: Router,
        sockets: usize,
        timeouts: Timeouts,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let limits = ServerLimits { sockets, timeouts, proxies };
        let server = Server::new(listener, router, limits, stop.clone());
        tokio::spawn(async move {
            while let Some(connection) = server.accept().await {
                tokio::spawn(connection);
            }
        });
        Self { address, _stop: stop.drop_guard() }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.unwrap()
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Returns the whole response to a request with `Connection: close`.
    async fn ask(&self, path: &str) -> String {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut stream = self.send(&request).await;
        let mut answer = String::new();
        within_time(stream.read_to_string(&mut answer)).await.unwrap();
        answer
    }
}

async fn within_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, work).await.expect("it happens in time")
}

/// Waits until the server has closed the connection.
async fn until_closed(stream: &mut TcpStream) {
    let closed = async {
        let mut buffer = [0; 1024];
        while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    };
    within_time(closed).await;
}

fn hello() -> Router {
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/", post(|body: Bytes| async { body }))
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed() {
    let timeouts = Timeouts { head: SHORT, ..PATIENT };
    let serving = Serving::new(hello(), 10, timeouts).await;
    until_closed(&mut serving.connect().await).await;
    until_closed(&mut serving.send("GET / HTTP/1.1\r\nHost: ").await).await;
}

#[tokio::test]
async fn a_head_that_drips_is_cut_off() {
    let timeouts = Timeouts { head: SHORT, ..PATIENT };
    let serving = Serving::new(hello(), 10, timeouts).await;
    let mut stream = serving.send("GET / HTTP/1.1\r\n").await;
    let dripping = async {
        let mut pause = tokio::time::interval(SHORT / 10);
        let mut buffer = [0; 1];
        loop {
            tokio::select! {
                read = stream.read(&mut buffer) => return read.unwrap_or(0),
                _ = pause.tick() => {}
            }
            if stream.write_all(b"X: y\r\n").await.is_err() {
                return 0;
            }
        }
    };
    assert_eq!(within_time(dripping).await, 0);
}

#[tokio::test]
async fn a_connection_without_a_next_request_is_closed() {
    let timeouts = Timeouts { idle: SHORT, ..PATIENT };
    let serving = Serving::new(hello(), 10, timeouts).await;
    until_closed(&mut serving.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await).await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_cut_off() {
    let timeouts = Timeouts { request: SHORT, ..PATIENT };
    let serving = Serving::new(hello(), 10, timeouts).await;
    let request = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc";
    until_closed(&mut serving.send(request).await).await;
}

#[tokio::test]
async fn a_response_that_takes_too_long_is_cut_off() {
    let timeouts = Timeouts { request: SHORT, ..PATIENT };
    let router = Router::new().route("/", get(std::future::pending::<()>));
    let serving = Serving::new(router, 10, timeouts).await;
    until_closed(&mut serving.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await).await;
}

/// Returns an endless event stream, and a token that is cancelled when the stream ends.
fn events(pause: Duration, size: usize) -> (Router, CancellationToken) {
    let ended = CancellationToken::new();
    let ending = ended.clone();
    let events = move || {
        let end = ending.clone().drop_guard();
        let events = stream::repeat_with(move || {
            let _ = &end;
            Ok::<_, Infallible>(Event::default().data("x".repeat(size)))
        });
        let paused = events.then(move |event| async move {
            tokio::time::sleep(pause).await;
            event
        });
        async { Sse::new(paused) }
    };
    (Router::new().route("/events", get(events)), ended)
}

#[tokio::test]
async fn a_reader_that_takes_no_events_is_dropped() {
    let timeouts = Timeouts { stalled: SHORT, ..PATIENT };
    let (router, ended) = events(Duration::ZERO, 64 * 1024);
    let serving = Serving::new(router, 10, timeouts).await;
    let stream = serving.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    within_time(ended.cancelled()).await;
    drop(stream);
}

#[tokio::test]
async fn a_stream_of_events_may_last() {
    let timeouts = Timeouts { request: SHORT, ..PATIENT };
    let (router, _) = events(SHORT / 2, 1);
    let serving = Serving::new(router, 10, timeouts).await;
    let mut stream = serving.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut text = String::new();
    let mut buffer = [0; 1024];
    while text.matches("data: x").count() < 10 {
        let read = within_time(stream.read(&mut buffer)).await.unwrap();
        assert!(read > 0, "the stream ended early: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[tokio::test]
async fn waiting_connections_make_room() {
    let serving = Serving::new(hello(), 4, PATIENT).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(serving.connect().await);
        silent.push(serving.send("GET / HTTP/1.1\r\n").await);
        let body = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc";
        silent.push(serving.send(body).await);
        assert!(serving.ask("/").await.ends_with("hello"));
    }
    until_closed(&mut silent[0]).await;
}

#[tokio::test]
async fn requests_that_are_handled_are_not_cut_off_for_others() {
    let (release, released) = watch::channel(false);
    let (come, mut came) = watch::channel(0);
    let held = move || {
        let mut released = released.clone();
        come.send_modify(|came| *came += 1);
        async move {
            released.wait_for(|is_released| *is_released).await.unwrap();
            Body::from("done")
        }
    };
    let serving = Serving::new(hello().route("/held", get(held)), 5, PATIENT).await;
    let asked = [serving.ask("/held"), serving.ask("/held")];
    let refused = async {
        // A single peer has at most half of the connections.
        within_time(came.wait_for(|came| *came == 2)).await.unwrap();
        until_closed(&mut serving.connect().await).await;
        release.send_replace(true);
    };
    let [one, other] = asked;
    let (one, other, ()) = tokio::join!(one, other, refused);
    assert!(one.ends_with("done") && other.ends_with("done"), "{one}\n{other}");
    assert!(serving.ask("/").await.ends_with("hello"));
}

fn local_proxy() -> TrustedProxies {
    TrustedProxies::new(&[IpNetwork::try_from("127.0.0.0/8".to_owned()).unwrap()])
}

/// A proxy's connections belong to many clients.
#[tokio::test]
async fn a_trusted_proxy_may_have_all_connections() {
    let (release, released) = watch::channel(false);
    let (come, mut came) = watch::channel(0);
    let held = move || {
        let mut released = released.clone();
        come.send_modify(|came| *came += 1);
        async move {
            released.wait_for(|is_released| *is_released).await.unwrap();
            "done"
        }
    };
    let router = hello().route("/held", get(held));
    // Six connections, of which one client has three.
    let serving = Serving::behind(local_proxy(), router, 8, PATIENT).await;
    let asked = join_all((0..5).map(|_| serving.ask("/held")));
    let others = async {
        within_time(came.wait_for(|came| *came == 5)).await.unwrap();
        assert!(serving.ask("/").await.ends_with("hello"));
        release.send_replace(true);
    };
    let (asked, ()) = tokio::join!(asked, others);
    assert!(asked.iter().all(|answer| answer.ends_with("done")), "{asked:?}");
}

#[tokio::test]
async fn a_request_is_its_clients_and_not_its_proxys() {
    let who = |Extension(client): Extension<Client>| async move {
        format!("{} {}", client.peer, if client.is_local { "local" } else { "remote" })
    };
    let router = || Router::new().route("/", get(who));
    let trusting = Serving::behind(local_proxy(), router(), 8, PATIENT).await;
    let wary = Serving::new(router(), 8, PATIENT).await;
    for (forwarded, trusted, untrusted) in [
        ("", "127.0.0.1 local", "127.0.0.1 local"),
        ("X-Forwarded-For: 203.0.113.9, 192.0.2.1\r\n", "192.0.2.1 remote", "127.0.0.1 remote"),
        (
            "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 192.0.2.1:4711, 127.0.0.2\r\n",
            "192.0.2.1 remote",
            "127.0.0.1 remote",
        ),
        ("X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8:: remote", "127.0.0.1 remote"),
        ("X-Forwarded-For: 127.0.0.1\r\n", "127.0.0.1 remote", "127.0.0.1 remote"),
        ("X-Forwarded-For: \u{e9}\r\n", "127.0.0.1 remote", "127.0.0.1 remote"),
    ] {
        for (serving, expected) in [(&trusting, trusted), (&wary, untrusted)] {
            let head = format!("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{forwarded}\r\n");
            let mut answer = String::new();
            let mut stream = serving.send(&head).await;
            within_time(stream.read_to_string(&mut answer)).await.unwrap();
            assert!(answer.ends_with(&format!("\r\n{expected}")), "{forwarded:?}: {answer}");
        }
    }
}

#[test]
fn all_listeners_together_leave_half_of_the_files() {
    let proxies = TrustedProxies::default();
    for files in [64, 256, 1024, 4096, 16_384] {
        let pages = ServerLimits::pages(files, &proxies);
        let sockets = pages.sockets + ServerLimits::health(files, &proxies).sockets;
        assert!(sockets as u64 <= files / 2, "{files}: {sockets}");
    }
}

/// The usual limit is low, and a process may raise it.
#[tokio::test]
async fn a_low_limit_of_files_is_raised() {
    let home = Home::new(1000.0);
    let program = home.start_in_shell("ulimit -S -n 64");
    let mut streams = Vec::new();
    for number in 0..40 {
        let answer = program.request("/events").await;
        assert_eq!(answer.status(), 200, "{number}");
        streams.push(answer);
    }
    assert_eq!(program.request("/live").await.status(), 200);
    drop(streams);
    assert_eq!(program.stop(), Some(0));
}

/// A stream never ends, so too many of them would block everything else.
#[tokio::test]
async fn event_streams_leave_room_for_other_clients_and_requests() {
    // 96 sockets, 72 connections, 36 streams, 18 for one client.
    const MOST: usize = 18;
    let home = Home::new(1000.0);
    let config = std::fs::read_to_string(home.config()).unwrap();
    let token = "open-sesame-0123456789";
    let section = format!("127.0.0.1:0\n  token: {token}\n  trusted_proxies: [127.0.0.1]");
    std::fs::write(home.config(), config.replace("127.0.0.1:0", &section)).unwrap();
    let program = home.start_with_files(FILES);
    let open = async |client: &str| {
        let stream = http().get(format!("{}/events", program.address)).bearer_auth(token);
        let stream = stream.header("x-forwarded-for", client).header("host", "aizuchi.example");
        within_time(stream.send()).await.unwrap()
    };
    let mut streams = Vec::new();
    for client in ["192.0.2.1", "192.0.2.2"] {
        for number in 0..MOST {
            let stream = open(client).await;
            assert_eq!(stream.status(), 200, "{client} {number}");
            streams.push(stream);
        }
        let refused = open(client).await;
        assert_eq!(refused.status(), 429, "{client}");
        assert!(refused.text().await.unwrap().contains("too many event streams"));
    }
    assert_eq!(open("192.0.2.3").await.status(), 429);
    assert_eq!(http().get(format!("{}/live", program.address)).send().await.unwrap().status(), 200);
    drop(streams.pop());
    // The server notices a little later.
    let freed = async { while open("192.0.2.3").await.status() != 200 {} };
    within_time(freed).await;
    drop(streams);
    assert_eq!(program.stop(), Some(0));
}

/// The limit of open files of the program in these tests, and the number of sockets of one client.
const FILES: u64 = 256;
const SOCKETS: usize = 1100;

/// Opens sockets that send nothing or only the beginning of a request.
async fn silent_sockets(address: &str) -> Vec<TcpStream> {
    // Two such clients at once, and the other tests.
    allow_files(2 * SOCKETS as u64 + 500);
    let mut sockets = Vec::new();
    for number in 0..SOCKETS {
        let connected = within_time(TcpStream::connect(address)).await;
        let mut socket = connected.unwrap_or_else(|error| panic!("socket {number}: {error}"));
        if number % 3 == 0 {
            // The program may have closed it already.
            let _ = socket.write_all(b"GET /live HTTP/1.1\r\nHost: loc").await;
        }
        sockets.push(socket);
    }
    sockets
}

/// Raises this process's limit of open files.
fn allow_files(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        let raised = Rlimit { current: Some(count), maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).unwrap();
    }
}

#[tokio::test]
async fn silent_sockets_stop_neither_health_nor_room_nor_models() {
    let model = providers::Server::start(providers::ServerLimits::default()).await;
    model.then([ProviderResponse::Says("it is behind the shed".to_owned())]);
    let home = Home::new(1000.0);
    let port = free_port();
    home.add(&format!(
        "health_check:\n  port: {port}\nagents:\n  response: {{model_id: openai/large-1, client_args: {{api_key: \
         sk-test, api_base: {}/v1}}}}\n",
        model.base
    ));
    let program = home.start_with_files(FILES);
    let health = format!("127.0.0.1:{port}");
    let sockets = silent_sockets(&health).await;
    let pages = silent_sockets(program.address.strip_prefix("http://").unwrap()).await;

    for path in ["/live", "/ready", "/health"] {
        let answer = http().get(format!("http://{health}{path}")).send();
        assert_eq!(within_time(answer).await.unwrap().status(), 200, "{path}");
    }
    let ready = within_time(program.request("/ready")).await;
    assert_eq!(ready.status(), 200);
    within_time(program.says("alice", "@Aizuchi where is the ladder?")).await;
    let answer =
        program.wait_for(0, |kind, data| kind == "message" && data["persona"] == json!(true)).await;
    assert_eq!(answer["text"], "it is behind the shed");
    assert!(!home.log().contains("cannot accept"), "{}", home.log());
    assert_eq!(sockets.len() + pages.len(), 2 * SOCKETS);
    assert_eq!(program.stop(), Some(0));
}
