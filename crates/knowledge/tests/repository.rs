// SPDX-License-Identifier: MIT OR Apache-2.0

//! The repository under bad luck: killed writers, locks, damage, other versions.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ioracle_knowledge::{
    ApplicationRow, Content, Contributed, DataObject, FileRole, IfMissing, KnowledgeGraph, Part,
    Repository, RepositoryError, RepositoryPlace, RunVisit, VisitKind, contribute,
    leave_contribution,
};
use rusqlite::Connection;

const PATIENCE: Duration = Duration::from_secs(60);

/// A run that reads one variable after the other of one input.
fn run(variables: &[&str]) -> KnowledgeGraph {
    let visit = |(n, name): (usize, &&str)| RunVisit {
        object: DataObject { role: FileRole::Input, content: Content::Variable((*name).into()) },
        kind: VisitKind::Read,
        index: 0,
        is_last_file: true,
        path_hash: 1,
        part: Part::default(),
        shape: None,
        file_bytes: 0,
        bytes: 100,
        extents: Vec::new(),
        start_ns: 10 * n as u64,
        end_ns: 10 * n as u64 + 5,
    };
    KnowledgeGraph::of_run(&[variables.iter().enumerate().map(visit).collect()])
}

fn open(path: &Path, place: RepositoryPlace) -> Result<Repository, RepositoryError> {
    Repository::open(path, place, IfMissing::Fail, Duration::from_millis(200))
}

fn give(path: &Path, place: RepositoryPlace, name: &str) -> Result<Contributed, RepositoryError> {
    contribute(path, place, (name, Some("build-1")), &run(&["a", "b"]), PATIENCE).map(|it| it.0)
}

fn check_integrity(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.unwrap(), "ok");
}

#[test]
fn runs_accumulate_by_application_and_build() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("knowledge.db");
    for place in [RepositoryPlace::Local, RepositoryPlace::Network] {
        for name in ["one", "two", "one", "quotes ' \" ;\n", "ä\u{0}b"] {
            assert_eq!(give(&path, place, name).unwrap(), Contributed::Merged);
        }
    }
    let repository = open(&path, RepositoryPlace::Local).unwrap();
    let rows = repository.list().unwrap();
    let one = rows.iter().find(|row| row.name == "one").unwrap();
    assert_eq!((one.runs, one.vertices, one.edges), (4, 2, 2));
    assert_eq!(one.builds, [("build-1".to_owned(), 4)]);
    assert_eq!(rows.len(), 4);
    assert_eq!(repository.get("quotes ' \" ;\n").unwrap().runs(), 2);
    assert!(matches!(repository.get("three"), Err(RepositoryError::Unknown { .. })));
    let long = "ä".repeat(4000);
    drop(repository);
    give(&path, RepositoryPlace::Local, &long).unwrap();
    let mut repository = open(&path, RepositoryPlace::Local).unwrap();
    assert_eq!(repository.get(&long).unwrap().runs(), 1);
    assert!(repository.forget("one").unwrap());
    assert!(!repository.forget("one").unwrap());
    assert_eq!(repository.list().unwrap().len(), 4);
}

#[test]
fn what_is_no_repository_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for content in [b"short".to_vec(), b"no database ".repeat(50)] {
        std::fs::write(&path, &content).unwrap();
        let refused = give(&path, RepositoryPlace::Local, "a");
        assert!(matches!(refused, Err(RepositoryError::Foreign { .. })), "{refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (x);").unwrap();
    let refused = give(&path, RepositoryPlace::Local, "a");
    assert!(matches!(refused, Err(RepositoryError::Foreign { .. })), "{refused:?}");
    let refused = give(directory.path(), RepositoryPlace::Local, "a");
    assert!(matches!(refused, Err(RepositoryError::Foreign { .. })), "{refused:?}");
    let missing = directory.path().join("nothing/here.db");
    let refused = give(&missing, RepositoryPlace::Local, "a");
    assert!(matches!(refused, Err(RepositoryError::Unusable { .. })), "{refused:?}");
    assert!(matches!(
        open(&directory.path().join("none.db"), RepositoryPlace::Local),
        Err(RepositoryError::Unusable { .. })
    ));
}

#[test]
fn a_newer_one_is_refused_and_an_older_one_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("newer.db");
    give(&path, RepositoryPlace::Local, "a").unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let refused = give(&path, RepositoryPlace::Local, "a");
    assert!(matches!(refused, Err(RepositoryError::Newer { found: 99, .. })), "{refused:?}");

    // Version 1 had no builds and noted no contributions.
    let path = directory.path().join("older.db");
    give(&path, RepositoryPlace::Local, "a").unwrap();
    let older = "DROP TABLE build; DROP TABLE contribution; PRAGMA user_version = 1";
    Connection::open(&path).unwrap().execute_batch(older).unwrap();
    give(&path, RepositoryPlace::Local, "a").unwrap();
    let rows = open(&path, RepositoryPlace::Local).unwrap().list().unwrap();
    assert_eq!((rows[0].runs, rows[0].builds.len()), (2, 1));
}

#[test]
fn damage_is_found_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("whole.db");
    give(&path, RepositoryPlace::Network, "a").unwrap();
    let intact = open(&path, RepositoryPlace::Network).unwrap().get("a").unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = directory.path().join("damaged.db");
    let mut n_refused = 0;
    for place in (0..whole.len()).step_by(97).chain([whole.len() / 2]) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        std::fs::write(&damaged, &bytes).unwrap();
        // Never a panic; a byte that nothing uses may change.
        let loaded = open(&damaged, RepositoryPlace::Network).and_then(|it| it.load("a"));
        n_refused += usize::from(!matches!(loaded, Ok(Some(_))));
    }
    assert!(n_refused > 0);
    for length in (0..whole.len()).step_by(509) {
        std::fs::write(&damaged, &whole[..length]).unwrap();
        let loaded = open(&damaged, RepositoryPlace::Network).and_then(|it| it.load("a"));
        // Pages that are missing may be those of other tables.
        assert!(!matches!(loaded, Ok(Some(graph)) if graph != intact), "{length} bytes");
    }
}

#[test]
fn a_locked_repository_gets_the_run_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("knowledge.db");
    give(&path, RepositoryPlace::Local, "a").unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    let left = contribute(
        &path,
        RepositoryPlace::Local,
        ("a", None),
        &run(&["a", "b"]),
        Duration::from_millis(100),
    );
    assert_eq!(left.unwrap().0, Contributed::Waiting);
    assert!(started.elapsed() < Duration::from_secs(10));
    other.execute_batch("COMMIT").unwrap();
    let repository = open(&path, RepositoryPlace::Local).unwrap();
    assert_eq!(repository.get("a").unwrap().runs(), 2);
    drop(repository);
    // It was merged once.
    assert_eq!(open(&path, RepositoryPlace::Local).unwrap().get("a").unwrap().runs(), 2);
}

/// A run that has ended leaves a process that merges it, while the user already looks.
#[test]
fn whoever_opens_a_repository_that_others_are_making_finds_what_waited() {
    for place in [RepositoryPlace::Local, RepositoryPlace::Network] {
        for _ in 0..40 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("knowledge.db");
            leave_contribution(&path, ("mean", None), &run(&["a", "b"])).unwrap();
            let all_ready = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        all_ready.wait();
                        let patience = Duration::from_secs(20);
                        let opened = Repository::open(&path, place, IfMissing::Fail, patience);
                        assert_eq!(opened.unwrap().get("mean").unwrap().runs(), 1);
                    });
                }
            });
            check_integrity(&path);
        }
    }
}

#[test]
fn on_a_network_file_system_the_holder_of_the_lock_merges_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("knowledge.db");
    give(&path, RepositoryPlace::Network, "a").unwrap();
    let holder = open(&path, RepositoryPlace::Network).unwrap();
    assert_eq!(give(&path, RepositoryPlace::Network, "a").unwrap(), Contributed::Waiting);
    assert!(matches!(open(&path, RepositoryPlace::Network), Err(RepositoryError::Locked { .. })));
    drop(holder);
    // Half a contribution is no contribution.
    let waiting = directory.path().join("knowledge.db.waiting");
    std::fs::write(waiting.join("damaged.run"), b"ioknow01 nonsense").unwrap();
    let repository = open(&path, RepositoryPlace::Network).unwrap();
    assert_eq!(repository.get("a").unwrap().runs(), 2);
    assert_eq!(std::fs::read_dir(waiting).unwrap().count(), 0);
}

#[test]
fn a_repository_that_may_not_be_written_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("knowledge.db");
    give(&path, RepositoryPlace::Network, "a").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let repository = open(&path, RepositoryPlace::Network).unwrap();
    assert_eq!(repository.get("a").unwrap().runs(), 1);
}

/// Somebody else's repository, in a directory where nothing can be made.
#[test]
fn a_repository_in_a_directory_of_others_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    for place in [RepositoryPlace::Local, RepositoryPlace::Network] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("knowledge.db");
        give(&path, place, "a").unwrap();
        let _ = std::fs::remove_dir(directory.path().join("knowledge.db.waiting"));
        let allow = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(directory.path(), mode).unwrap();
        };
        allow(0o555);
        let as_somebody_else = || {
            // This thread alone, and for good; root may write anywhere.
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_uid(nobody).unwrap();
            }
            let repository = open(&path, place).unwrap();
            assert_eq!(repository.list().unwrap().len(), 1);
            assert_eq!(repository.get("a").unwrap().runs(), 1);
            let refused = give(&path, place, "a").unwrap_err();
            assert!(matches!(refused, RepositoryError::ReadOnly { .. }), "{refused}");
            let new = directory.path().join("new.db");
            let made = Repository::open(&new, place, IfMissing::Create, PATIENCE);
            let refused = made.err().unwrap().to_string();
            assert!(refused.contains("its directory may not be written to"), "{refused}");
        };
        std::thread::scope(|scope| scope.spawn(as_somebody_else).join()).unwrap();
        allow(0o755);
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            match place {
                RepositoryPlace::Local => 1,
                // The lock of the first run.
                RepositoryPlace::Network => 2,
            }
        );
    }
}

/// The child of the next test: contributes until it is killed, and says after each
/// run that it has ended.
#[test]
fn contributes_until_it_is_killed() {
    let Ok(path) = std::env::var("KNOWLEDGE_WRITER") else { return };
    let place = match std::env::var("KNOWLEDGE_PLACE").as_deref() {
        Ok("network") => RepositoryPlace::Network,
        _ => RepositoryPlace::Local,
    };
    loop {
        give(Path::new(&path), place, "app").unwrap();
        eprintln!("ended");
    }
}

fn survives_kills(place: RepositoryPlace, n_kills: usize) {
    use std::io::{BufRead, BufReader};
    use std::sync::atomic::{AtomicU32, Ordering};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("knowledge.db");
    let n_ended = AtomicU32::new(0);
    let n_writers = 16;
    let write_and_kill = |n: usize| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "contributes_until_it_is_killed", "--nocapture"])
            .env("KNOWLEDGE_WRITER", &path)
            .env(
                "KNOWLEDGE_PLACE",
                if place == RepositoryPlace::Local { "local" } else { "network" },
            )
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut line = String::new();
                while said.read_line(&mut line).unwrap_or(0) > 0 {
                    n_ended.fetch_add(u32::from(line.contains("ended")), Ordering::Relaxed);
                    line.clear();
                }
            });
            std::thread::sleep(Duration::from_millis(60 + (n as u64 * 37) % 190));
            child.kill().unwrap();
            child.wait().unwrap();
        });
    };
    std::thread::scope(|scope| {
        for writer in 0..n_writers {
            let write_and_kill = &write_and_kill;
            scope.spawn(move || {
                for n in (writer..n_kills).step_by(n_writers) {
                    write_and_kill(n);
                }
            });
        }
    });
    let repository =
        Repository::open(&path, place, IfMissing::Fail, Duration::from_secs(30)).unwrap();
    let rows: Vec<ApplicationRow> = repository.list().unwrap();
    let n_ended = n_ended.load(Ordering::Relaxed);
    assert!(n_ended > 0, "no writer ever finished a run");
    // One that was killed between its commit and its word is in it as well.
    let in_it = rows[0].runs;
    assert!(in_it >= n_ended && in_it <= n_ended + n_kills as u32, "{in_it} of {n_ended}");
    assert_eq!((rows[0].vertices, rows[0].edges), (2, 2));
    drop(repository);
    check_integrity(&path);
}

#[test]
fn sixteen_writers_are_killed_200_times_and_every_run_that_ended_is_there() {
    survives_kills(RepositoryPlace::Local, 200);
}

#[test]
fn so_it_is_on_a_network_file_system() {
    survives_kills(RepositoryPlace::Network, 48);
}
