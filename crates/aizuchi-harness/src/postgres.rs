//! A PostgreSQL server for the tests: one for the whole test process, with a new database for each test.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use aizuchi_store::database::location::{self, DatabaseLocation};
use sqlx::{AssertSqlSafe, Connection, PgConnection, raw_sql};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::net::free_port;

/// Starts a server in the folder $1 with the programs in $2, on the first free one of the remaining ports, and prints
/// that port. The server runs until its standard input is closed, which also happens if the tests crash. It uses
/// generic plans: a story runs each statement a few times per session, and by default a server makes a new plan for
/// each of the first five executions, which takes longer than the executions themselves. Each test has several
/// sessions, and a machine with many cores runs more than a hundred tests at once.
const SERVE: &str = r#"
trap '' PIPE
folder=$1 programs=$2
shift 2
{
    "$programs/initdb" --pgdata="$folder/data" --username=postgres --auth=trust --no-sync \
        --encoding=UTF8 --locale=C --locale-provider=icu --icu-locale=en &&
    cat >>"$folder/data/postgresql.conf" <<SETTINGS
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 1000
shared_buffers = '128MB'
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
wal_skip_threshold = 0
max_wal_senders = 0
max_wal_size = '128MB'
autovacuum = off
plan_cache_mode = force_generic_plan
jit = off
SETTINGS
} >"$folder/log" 2>&1
for port in "$@"; do
    if "$programs/pg_ctl" start --wait --timeout=600 --pgdata="$folder/data" --log="$folder/log" \
        --options="-p $port" >>"$folder/log" 2>&1
    then
        echo "$port"
        read -r _
        "$programs/pg_ctl" stop --mode=immediate --pgdata="$folder/data" >/dev/null 2>&1
        break
    fi
done
cat "$folder/log"
rm -rf "$folder"
"#;

struct Server {
    port: u16,
    administrator: Mutex<Sender<Statement>>,
    /// The process that stops the server when its standard input is closed.
    _supervisor: Child,
}

/// A statement for the administrator's session, and where to report its completion if a test waits for it.
type Statement = (String, Option<Sender<()>>);

impl Server {
    fn run(&self, statement: String) {
        let (done, is_done) = channel();
        self.administrator.lock().unwrap().send((statement, Some(done))).unwrap();
        is_done.recv().expect("the administrator's thread tells what went wrong");
    }

    fn run_later(&self, statement: String) {
        // If the administrator's thread has ended, a test that waited for it has reported why.
        self.administrator.lock().unwrap().send((statement, None)).ok();
    }
}

/// A database that is dropped with this value: each takes ten megabytes, and there are more than a thousand tests.
pub struct OwnedDatabase {
    pub url: String,
}

impl OwnedDatabase {
    /// Creates a database with the tables of Aizuchi.
    pub fn with_tables() -> Self {
        Self { url: with_tables() }
    }
}

impl Drop for OwnedDatabase {
    fn drop(&mut self) {
        let name = self.url.rsplit_once('/').map_or("", |(_, name)| name);
        server().run_later(format!("DROP DATABASE {name} WITH (FORCE)"));
    }
}

/// The URL of a new database without tables. Its owner is a role without other rights.
pub fn database() -> String {
    create_from("template1")
}

/// The URL of a new database with the tables of Aizuchi.
pub fn with_tables() -> String {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let url = database();
        let address = DatabaseLocation::Postgres(location::PostgresUrl::parse(&url).unwrap());
        let make = || async {
            let (store, writer) = address.open().await.unwrap();
            let stop = CancellationToken::new();
            stop.cancel();
            writer.run(stop).await.unwrap();
            drop(store);
        };
        run_on_thread(make);
        url.rsplit_once('/').unwrap().1.to_owned()
    });
    create_from(template)
}

/// The URL of a copy of a database, which nothing may use in the meantime.
pub fn copy_of(url: &str) -> String {
    let name = url.rsplit_once('/').map_or("", |(_, name)| name);
    // The sessions of a killed process may not have ended yet.
    let end =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    server().run(end);
    create_from(name)
}

fn create_from(template: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let server = server();
    // Copying the files takes a third of the time of the default, which copies through the log.
    let create =
        format!("CREATE DATABASE {name} OWNER aizuchi TEMPLATE {template} STRATEGY FILE_COPY");
    server.run(create);
    format!("postgres://aizuchi@127.0.0.1:{}/{name}", server.port)
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = start();
        server.run("CREATE ROLE aizuchi LOGIN".to_owned());
        server
    })
}

fn start() -> Server {
    // SERVE removes the folder when the server ends.
    let folder = tempfile::Builder::new().prefix("aizuchi-postgres-").tempdir().unwrap().keep();
    let mut supervisor = Command::new("sh");
    supervisor.args(["-c", SERVE, "sh"]).arg(&folder).arg(programs());
    supervisor.args([free_port(), free_port(), free_port()].map(|port| port.to_string()));
    if folder.metadata().unwrap().uid() == 0 {
        let (user, group) = unprivileged();
        chown(&folder, Some(user), Some(group)).unwrap();
        supervisor.uid(user).gid(group);
    }
    // The process group of its own lets it clean up after Ctrl-C ends the tests.
    supervisor.process_group(0).current_dir(&folder);
    supervisor.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut supervisor = supervisor.spawn().unwrap();
    let mut output = BufReader::new(supervisor.stdout.take().unwrap());
    let mut port = String::new();
    output.read_line(&mut port).unwrap();
    let Ok(port) = port.trim().parse() else {
        output.read_to_string(&mut port).unwrap();
        panic!("PostgreSQL does not start:\n{port}");
    };
    let administrator = Mutex::new(start_administrator(port));
    Server { port, administrator, _supervisor: supervisor }
}

/// The folder with the server's programs: the one in PATH, or else the newest installed version.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find(|folder| folder.join("initdb").exists());
    let version = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse::<u32>().ok())
    };
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let installed = installed.flatten().map(|entry| entry.path());
    let newest = || installed.max_by_key(version).map(|folder| folder.join("bin"));
    on_path.or_else(newest).expect("scripts/test installs PostgreSQL")
}

/// A user and a group for the server, which refuses to run as root.
fn unprivileged() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |user: &str| {
        let mut fields = user.strip_prefix("postgres:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    users.lines().find_map(ids).unwrap_or((65534, 65534))
}

/// Runs a future on a thread of its own, so that it can be called inside and outside of a runtime.
fn run_on_thread<F: Future<Output = ()>>(task: impl FnOnce() -> F + Send) {
    let wait = || Builder::new_current_thread().enable_all().build().unwrap().block_on(task());
    std::thread::scope(|scope| scope.spawn(wait).join().unwrap());
}

/// Starts one session for all of the administrator's statements: a session costs the server as much as a new database.
fn start_administrator(port: u16) -> Sender<Statement> {
    let (sender, statements) = channel::<Statement>();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let mut connection = runtime.block_on(PgConnection::connect(&url)).unwrap();
        for (statement, done) in statements {
            let statement = raw_sql(AssertSqlSafe(statement));
            let ran = runtime.block_on(statement.execute(&mut connection));
            // No test waits for a dropped database, and one that could not be dropped only takes space.
            if let Some(done) = done {
                ran.unwrap();
                done.send(()).unwrap();
            }
        }
    });
    sender
}
