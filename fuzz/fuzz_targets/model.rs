// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as a saved model, of one oracle and of a job, also with the
//! header put right so that the body is reached: refused, or a model that works.

#![no_main]

use ioracle_events::{ContextId, FileId, Function, Operation};
use ioracle_oracle::{Behaviour, Config, LearnedStream, Model, Oracle, Role, Site, StackId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = Oracle::load(body);
    let _ = Model::load(body);
    let of_oracle = Oracle::new(Config::default()).save();
    let of_job = Model::new("app").save();
    if let Ok(oracle) = Oracle::load(&file(&of_oracle, body)) {
        use_oracle(oracle);
    }
    if let Ok(model) = Model::load(&file(&of_job, body)) {
        use_model(model);
    }
    // The oracle inside has a header of its own, which chance never gets right.
    if let Some((&n_names, rest)) = body.split_first() {
        let (oracle, rest) = rest.split_at(rest.len() / 2);
        let mut job = vec![0, 1, n_names];
        let oracle = file(&of_oracle, oracle);
        let mut length = oracle.len();
        while length > 0x7F {
            job.push(length as u8 | 0x80);
            length >>= 7;
        }
        job.push(length as u8);
        job.extend(oracle);
        job.extend_from_slice(rest);
        if let Ok(model) = Model::load(&file(&of_job, &job)) {
            use_model(model);
        }
    }
});

/// A file of the same kind and version as `like`, with this body.
fn file(like: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = like[..12].to_vec();
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn use_oracle(mut oracle: Oracle) {
    oracle.ahead(0).take(20).for_each(drop);
    oracle.next_burst();
    for (n, function) in Function::all().enumerate() {
        oracle.observe(&Operation {
            function,
            context: ContextId(n as u32 % 5),
            file: FileId(n as u32 % 3),
            handle: 3,
            offset: function.access().is_data().then_some(n as u64 * 7),
            size: 7,
            requested: Some(7 + n as u64 % 2),
            append: false,
            truncated_to: None,
            start_ns: n as u64 * 1000,
            end_ns: n as u64 * 1000 + 10,
        });
    }
    let again = Oracle::load(&oracle.save()).expect("what was saved can be loaded");
    assert_eq!(again.predict(), oracle.predict());
}

fn use_model(mut model: Model) {
    let played = model.played();
    for view in model.roles() {
        assert!(model.find(view.role).is_some());
    }
    let mut stacks = model.stacks().clone();
    stacks.candidates(&[Site::named("app", "main", 0)]);
    stacks.define(StackId::of("a"), StackId::of("b"), vec![Site::at("app", 1)]);
    model.set_stacks(stacks);
    let oracle = model.clone().into_busiest();
    let mut run = model.clone();
    let role = Role { program: "app".to_owned(), ..Role::default() };
    run.learn(role, LearnedStream { oracle, behaviour: Behaviour::default() });
    model.take_in(&run, &played);
    model.merge(&run);
    model.begin_run();
    Model::load(&model.save()).expect("what was saved can be loaded");
}
