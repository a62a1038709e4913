// SPDX-License-Identifier: MIT OR Apache-2.0

//! Servers that root starts and that become somebody else, who may not enter the
//! directory of the job. Nothing of what they did then was once recorded: 739
//! calls of nginx's workers.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;

use ioracle_testing::skip;
use serde_json::json;

use crate::agree::{behaves_the_same, check};
use crate::compile::{c, has_tool};
use crate::run::Program;

/// Without others' rights, records have the room that was made before; a writer
/// that is faster than the reader waits for it.
fn patiently(program: Program) -> Program {
    program.option("--wait-ms").option("20000")
}

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    if !is_root {
        skip("only root can become another user");
    }
    is_root
}

#[test]
fn workers_that_change_their_user_are_recorded_with_threads_begun_afterwards() {
    if !is_root() {
        return;
    }
    for way in ["setuid", "setresuid", "raw"] {
        let done = check(&patiently(Program::new(c("changes_user")).arg(way)));
        let unrecorded = &done.summary()["unrecorded"];
        assert_eq!(unrecorded["calls"], json!([]), "{way}: {}", done.err);
        assert_eq!(unrecorded["threads"], 0, "{way}: {}", done.err);
    }
}

#[test]
fn workers_that_change_their_root_are_recorded() {
    if !is_root() {
        return;
    }
    let done = behaves_the_same(&patiently(Program::new(c("changes_user")).arg("chroot")));
    // Paths are those that the workers see.
    let n_expected: usize = done.expected().iter().map(Vec::len).sum();
    assert_eq!(done.summary()["unrecorded"]["recorded"], n_expected, "{}", done.err);
    assert_eq!(done.summary()["unrecorded"]["calls"], json!([]), "{}", done.err);
}

#[test]
fn a_process_that_cannot_be_recorded_is_named() {
    if !is_root() {
        return;
    }
    let done = check(&patiently(Program::new(c("changes_user")).arg("child")));
    let summary = done.summary();
    let unrecorded = &summary["unrecorded"];
    assert_eq!((&unrecorded["processes"], &unrecorded["threads"]), (&json!(2), &json!(2)));
    let calls = &unrecorded["calls"][0];
    assert_eq!((&calls["cause"], &calls["calls"]), (&json!("no_file"), &json!(2 * 3)));
    let programs = unrecorded["programs"].as_array().expect("a list of programs");
    assert!(programs.iter().all(|it| it["name"] == "changes_user" && it["cause"] == "no_file"));
    assert!(done.err.contains("'changes_user' ("), "{}", done.err);
}

#[test]
fn workers_of_nginx_are_recorded() {
    if !is_root() || !has_tool("nginx") {
        return;
    }
    const REQUESTS: usize = 20;
    // Free a moment ago, and not given away again so soon.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = format!(
        r#"
        seq 1000 > page
        mkdir temp; chmod 777 temp
        cat > nginx.conf <<END
        daemon off; worker_processes 1; user nobody nogroup;
        pid $PWD/nginx.pid; error_log $PWD/error.log;
        events {{ worker_connections 64; }}
        http {{
            access_log $PWD/access.log;
            client_body_temp_path $PWD/temp/body; proxy_temp_path $PWD/temp/proxy;
            fastcgi_temp_path $PWD/temp/fastcgi; uwsgi_temp_path $PWD/temp/uwsgi;
            scgi_temp_path $PWD/temp/scgi;
            server {{ listen 127.0.0.1:{port}; root $PWD; }}
        }}
END
        nginx -p "$PWD" -c "$PWD/nginx.conf" 2> said &
        for i in $(seq 200); do
            (exec 3<>/dev/tcp/127.0.0.1/{port}) 2> no && break
            sleep 0.05
        done
        for i in $(seq {REQUESTS}); do
            exec 3<>/dev/tcp/127.0.0.1/{port}
            printf 'GET /page HTTP/1.0\r\n\r\n' >&3
            cat <&3 > got
            exec 3>&-
            tail -n 1 got
        done
        kill -QUIT $(cat nginx.pid)
        wait
        "#
    );
    let program = Program::new("bash").arg("-c").arg(script).env("EXPECTED_CALLS", "");
    // The working directory's parents are its owner's alone, and nobody must get there.
    let done = program.env("TMPDIR", "/tmp").recorded();
    assert_eq!(done.out, "1000\n".repeat(REQUESTS), "{}", done.err);
    let calls = done.recorded().concat();
    let n_opened = calls.iter().filter(|call| call.file == "page" && call.function == "open");
    assert!(n_opened.count() >= REQUESTS, "{}", done.err);
    assert_eq!(done.summary()["unrecorded"]["calls"], json!([]), "{}", done.err);
}
