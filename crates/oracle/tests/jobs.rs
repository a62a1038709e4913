// SPDX-License-Identifier: MIT OR Apache-2.0

//! Models of whole jobs: roles, their bounds, runs at once, and bytes that are
//! wrong.

mod common;

use common::{Noise, Program, checkpoints};
use ioracle_oracle::{Behaviour, Error, LearnedStream, Model, Oracle, Role, Site, StackId, Stacks};

fn role(program: &str, rank: Option<u32>, process: u32, thread: u32) -> Role {
    Role { program: program.to_owned(), rank, process, thread }
}

/// What a stream of so many checkpoints has learned.
fn learned(n_checkpoints: u64) -> LearnedStream {
    let mut program = Program::new();
    checkpoints(&mut program, 0..n_checkpoints);
    let mut behaviour = Behaviour::default();
    for operation in &program.operations {
        behaviour.observe(&program.oracle, operation, None);
    }
    LearnedStream { oracle: program.oracle, behaviour }
}

/// A job of two ranks that do the same and a script around them.
fn job() -> Model {
    let mut model = Model::new("job.sh");
    model.learn(role("bash", None, 0, 0), learned(2));
    model.learn(role("app", Some(0), 0, 0), learned(5));
    model.learn(role("app", Some(1), 0, 0), learned(5));
    let mut stacks = Stacks::default();
    let known: Vec<StackId> = learned(5).oracle.stacks().collect();
    for (n, stack) in (0..).zip(known) {
        stacks.define(stack, stack, vec![Site::named("app", "write", n), Site::at("libc", 7)]);
    }
    model.set_stacks(stacks);
    model
}

fn operations_of(model: &Model, role: &Role) -> Option<u64> {
    model.find(role).map(|view| view.oracle.operations())
}

#[test]
fn streams_find_the_oracle_of_their_role_or_of_the_nearest() {
    let mut model = job();
    model.learn(role("app", Some(0), 0, 1), learned(7));
    let (five, seven) = (learned(5).oracle.operations(), learned(7).oracle.operations());
    let find = |rank, process, thread| operations_of(&model, &role("app", rank, process, thread));
    assert_eq!(find(Some(1), 0, 0), Some(five));
    assert_eq!(find(Some(9), 3, 0), Some(five), "a new rank, another process");
    assert_eq!(find(None, 0, 0), Some(five));
    assert_eq!(find(Some(1), 0, 4), Some(seven), "helpers are like helpers");
    assert_eq!(operations_of(&model, &role("tar", None, 0, 0)), None);
}

#[test]
fn a_rank_is_nearer_to_other_ranks_than_to_the_first() {
    let mut model = Model::new("app");
    model.learn(role("app", Some(0), 0, 0), learned(3));
    model.learn(role("app", Some(4), 0, 0), learned(6));
    let of_others = Some(learned(6).oracle.operations());
    assert_eq!(operations_of(&model, &role("app", Some(1), 0, 0)), of_others);
}

#[test]
fn equal_streams_are_stored_once() {
    let once = {
        let mut model = Model::new("app");
        model.learn(role("app", Some(0), 0, 0), learned(5));
        model.save().len()
    };
    let mut model = Model::new("app");
    for rank in 0..100 {
        model.learn(role("app", Some(rank), 0, 0), learned(5));
    }
    let numbers: Vec<usize> = model.roles().map(|view| view.number).collect();
    assert_eq!(numbers, [0; 100]);
    assert!(model.save().len() < once + 100 * 16);
}

#[test]
fn a_job_with_more_streams_than_a_model_holds_keeps_the_busiest() {
    let mut model = Model::new("app");
    for rank in 0..200 {
        model.learn(role("app", Some(rank), 0, 0), learned(1 + u64::from(rank % 150)));
    }
    let loaded = Model::load(&model.save()).expect("a model just saved");
    let n_oracles = loaded.roles().map(|view| view.number).max().unwrap() + 1;
    assert_eq!(n_oracles, 64);
    let most = loaded.roles().map(|view| view.oracle.operations()).max();
    assert_eq!(most, Some(learned(150).oracle.operations()));
    assert!(loaded.find(&role("app", Some(0), 0, 0)).is_some(), "the nearest one");
}

#[test]
fn ten_thousand_short_processes_stay_within_bounds() {
    let mut model = Model::new("make");
    let short = learned(1);
    for process in 0..10_000 {
        model.learn(role("cc1", None, process, 0), short.clone());
    }
    let n_roles = Model::load(&model.save()).unwrap().roles().count();
    assert_eq!(n_roles, 1024);
}

#[test]
fn a_job_is_loaded_as_it_was_saved() {
    let (model, loaded) = (job(), Model::load(&job().save()).expect("a model just saved"));
    assert_eq!((loaded.application(), loaded.runs()), ("job.sh", 1));
    assert_eq!(loaded.played(), model.played());
    assert_eq!(loaded.stacks().len(), model.stacks().len());
    assert!(model.is_of("job.sh") && model.is_of("app") && !model.is_of("tar"));
    assert_eq!(loaded.save(), model.save());
}

#[test]
fn a_single_oracle_is_a_model_for_anything_and_a_job_has_a_busiest_oracle() {
    let alone = learned(4).oracle;
    let model = Model::load(&alone.save()).expect("a model of one oracle");
    assert!(model.is_of("whatever"));
    assert_eq!(operations_of(&model, &role("tar", None, 3, 1)), Some(alone.operations()));
    let busiest = Oracle::load(&job().save()).expect("one of a job");
    assert_eq!(busiest.operations(), learned(5).oracle.operations());
}

/// A run that began with a model and has played one of its roles again.
fn run_of(model: &Model, played: &Role, learned: LearnedStream) -> Model {
    let mut run = model.clone();
    run.learn(played.clone(), learned);
    run
}

#[test]
fn of_two_runs_at_once_both_are_kept() {
    let before = job();
    let [zero, one] = [0, 1].map(|rank| role("app", Some(rank), 0, 0));
    let mut now = run_of(&before, &zero, learned(8));
    now.take_in(&run_of(&before, &one, learned(9)), &before.played());
    assert_eq!(operations_of(&now, &zero), Some(learned(8).oracle.operations()));
    assert_eq!(operations_of(&now, &one), Some(learned(9).oracle.operations()));
    assert_eq!((now.played()[&zero].runs, now.played()[&one].runs), (2, 2));
}

#[test]
fn of_two_runs_at_once_that_did_the_same_one_is_enough() {
    let before = job();
    let zero = role("app", Some(0), 0, 0);
    let mut now = run_of(&before, &zero, learned(8));
    now.take_in(&run_of(&before, &zero, learned(8)), &before.played());
    let n_each = learned(8).oracle.operations() - before.operations_of(&zero);
    let n_all = before.operations_of(&zero) + 2 * n_each;
    assert_eq!(operations_of(&now, &zero), Some(n_all), "both are counted, as if one by one");
    assert_eq!(now.played()[&zero].runs, 3);
    // What did something else is added.
    now.take_in(&run_of(&before, &zero, learned(9)), &before.played());
    let n_other = learned(9).oracle.operations() - before.operations_of(&zero);
    assert_eq!(operations_of(&now, &zero), Some(n_all + n_other));
}

#[test]
fn every_flipped_byte_and_every_cut_of_a_job_is_refused() {
    let bytes = job().save();
    for place in (0..64).chain((64..bytes.len()).step_by(997)) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x5A;
        assert!(Model::load(&flipped).is_err(), "byte {place}");
        assert!(Model::load(&bytes[..place]).is_err(), "cut at {place}");
    }
    let mut newer = bytes;
    newer[8] = 11;
    let error = Model::load(&newer).expect_err("refused");
    assert_eq!(error, Error::Version { found: 11, supported: 10 });
}

#[test]
fn made_up_jobs_with_right_checksums_do_no_harm() {
    let bytes = job().save();
    let mut noise = Noise(23);
    let (mut n_loaded, mut n_refused) = (0, 0);
    for round in 0..400 {
        let mut forged = bytes.clone();
        // Roles and stacks stand at the end, behind the oracles.
        let tail = if round % 2 == 0 { 120 } else { bytes.len() as u64 - 24 };
        for _ in 0..1 + noise.below(3) {
            let place = bytes.len() - 1 - noise.below(tail) as usize;
            forged[place] = noise.below(256) as u8;
        }
        let checksum = crc32fast::hash(&forged[24..]).to_le_bytes();
        forged[20..24].copy_from_slice(&checksum);
        match Model::load(&forged) {
            Ok(mut model) => {
                n_loaded += 1;
                model.find(&role("app", Some(7), 0, 0));
                model.merge(&job());
                Model::load(&model.save()).expect("a merged model can be saved");
            }
            Err(error) => {
                n_refused += 1;
                assert!(error.to_string().contains("damaged"), "{error}");
            }
        }
    }
    assert!(n_loaded > 20 && n_refused > 20, "{n_loaded} {n_refused}");
}

/// A sequence may promise as many elements as it likes; memory is taken for
/// those that are there.
#[test]
fn gigantic_counts_are_refused() {
    for count in [1u64 << 20, 1 << 32, u64::MAX >> 1] {
        let mut body = vec![0];
        let mut rest = count;
        while rest > 0x7F {
            body.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        body.push(rest as u8);
        let mut bytes = b"ioracle\x1A\x02\0\0\0".to_vec();
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(body);
        assert!(matches!(Model::load(&bytes), Err(Error::Content(_))), "{count}");
    }
}
