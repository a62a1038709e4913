// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decisions by pattern: how often they are right, and what they survive.

mod support;

use ioracle_pattern::{
    ChoiceConfig, DecisionMaker, MergedPatterns, OptionOrder, PatternConfig, PatternId,
    PatternWatcher, Request, RewardError,
};
use support::{Load, Noise};

/// The share of right choices in the second half, in percent, where two loads
/// alternate. Rewards have 10 % noise.
fn play(
    maker: &mut DecisionMaker,
    rewards: [&[f64]; 2],
    n_rounds: u64,
    wrong_matches_percent: u64,
) -> f64 {
    let mut noise = Noise(42);
    let (mut n_right, mut n) = (0, 0);
    for round in 0..n_rounds {
        let load = (round / 5 % 2) as usize;
        let is_wrong = noise.below(100) < wrong_matches_percent;
        let recognised = PatternId(if is_wrong { 1 - load as u32 } else { load as u32 });
        let option = maker.choose(recognised);
        let reward = rewards[load][option] * (0.95 + noise.below(1000) as f64 * 1e-4);
        maker.reward(recognised, option, reward).unwrap();
        let best = rewards[load].iter().copied().fold(f64::MIN, f64::max);
        if round >= n_rounds / 2 && !is_wrong {
            n += 1;
            n_right += u64::from(rewards[load][option] == best);
        }
    }
    100.0 * n_right as f64 / n as f64
}

#[test]
fn two_patterns_with_opposite_best_options_are_told_apart() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    let right = play(&mut maker, [&[100.0, 60.0], &[40.0, 90.0]], 1000, 0);
    assert!(right >= 95.0, "{right}");
}

#[test]
fn many_options_are_searched_without_trying_bad_ones_for_long() {
    let policies: [&[f64]; 2] = [
        &[100.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0],
        &[50.0, 60.0, 90.0, 130.0, 70.0, 60.0, 20.0],
    ];
    let right = play(&mut DecisionMaker::new(7, ChoiceConfig::default()), policies, 2000, 0);
    assert!(right >= 93.0, "{right}");
}

#[test]
fn wrong_matches_do_little_harm() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    // The second load is ten times as fast, so its rewards would decide.
    let right = play(&mut maker, [&[100.0, 60.0], &[500.0, 1000.0]], 2000, 10);
    assert!(right >= 90.0, "{right}");
}

#[test]
fn ordered_options_are_found_from_neighbour_to_neighbour() {
    let config = ChoiceConfig { order: OptionOrder::Ordered, ..ChoiceConfig::default() };
    let mut windows = DecisionMaker::new(9, config);
    let reward = |best: i64| (0..9).map(move |at: i64| 100.0 - 9.0 * (at - best).abs() as f64);
    let (first, second): (Vec<f64>, Vec<f64>) = (reward(6).collect(), reward(1).collect());
    let right = play(&mut windows, [&first, &second], 2000, 0);
    assert!(right >= 90.0, "{right}");
}

#[test]
fn a_change_of_the_machine_is_noticed() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    play(&mut maker, [&[100.0, 60.0], &[100.0, 60.0]], 500, 0);
    let right = play(&mut maker, [&[60.0, 100.0], &[60.0, 100.0]], 4000, 0);
    assert!(right >= 90.0, "{right}");
}

#[test]
fn rewards_that_are_no_numbers_and_options_that_are_not_there_change_nothing() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    for reward in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        assert_eq!(maker.reward(PatternId(1), 0, reward), Err(RewardError::NotFinite));
    }
    let fault = RewardError::NoSuchOption { option: 2, n_options: 2 };
    assert_eq!(maker.reward(PatternId(1), 2, 1.0), Err(fault));
    assert_eq!(maker.best(PatternId(1)), None);
    maker.reward(PatternId(1), 1, -5.0).unwrap();
    maker.reward(PatternId(1), 0, 0.0).unwrap();
    assert_eq!(maker.best(PatternId(1)), Some(0));
    assert!(maker.choose(PatternId(1)) < 2);
}

#[test]
fn rewards_of_merged_patterns_add_up() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    maker.reward(PatternId(1), 0, 10.0).unwrap();
    maker.reward(PatternId(2), 1, 20.0).unwrap();
    maker.merge(MergedPatterns { kept: PatternId(1), gone: PatternId(2) });
    assert_eq!(maker.best(PatternId(1)), Some(1));
    assert_eq!(maker.best(PatternId(2)), None);
}

#[test]
fn patterns_are_forgotten_beyond_the_limit() {
    let config = ChoiceConfig { max_patterns: 10, ..ChoiceConfig::default() };
    let mut maker = DecisionMaker::new(2, config);
    (0..100).for_each(|id| maker.reward(PatternId(id), 0, 1.0).unwrap());
    let known = (0..100).filter(|&id| maker.best(PatternId(id)).is_some()).count();
    assert_eq!(known, 10);
    assert_eq!(maker.best(PatternId(99)), Some(0));
}

#[test]
fn what_was_learned_survives_being_saved() {
    let mut maker = DecisionMaker::new(3, ChoiceConfig::default());
    (0..30).for_each(|n| maker.reward(PatternId(4), n % 3, [5.0, 9.0, 7.0][n % 3]).unwrap());
    let mut again = DecisionMaker::new(3, ChoiceConfig::default());
    again.restore(PatternId(4), maker.estimates(PatternId(4)).to_vec());
    assert_eq!(again.best(PatternId(4)), Some(1));
    assert_eq!(again.choose(PatternId(5)), 1, "a new pattern starts from the best so far");
}

/// Two loads take turns of some seconds on a server that begins to learn, and
/// each is faster under another option. The share of seconds in the second half
/// under the right option, in percent.
fn serve_alternating(
    loads: [Load; 2],
    seconds_per_turn: u64,
    file: impl Fn(u64, u64) -> u64,
) -> f64 {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    watcher.set_options(vec!["small".to_owned(), "large".to_owned()]);
    let mut noise = Noise(9);
    let (mut n_right, mut n, n_turns) = (0, 0, 60_u64);
    for turn in 0..n_turns {
        let which = (turn % 2) as usize;
        let load = Load { n_slices: seconds_per_turn, ..loads[which] };
        for second in load.requests(turn).chunks(load.per_second as usize) {
            let option = watcher.choose();
            for request in second {
                watcher.observe(&Request { file: file(turn, request.file), ..*request });
            }
            watcher.tick().expect("there were requests");
            let reward = if option == which { 100.0 } else { 70.0 };
            watcher.reward(reward * (0.95 + noise.below(1000) as f64 * 1e-4)).unwrap();
            if turn >= n_turns / 2 {
                n += 1;
                n_right += u64::from(option == which);
            }
        }
    }
    100.0 * f64::from(n_right as u32) / f64::from(n)
}

fn two_loads() -> [Load; 2] {
    let load = Load { per_second: 400, ..Load::default() };
    [
        Load { n_streams: 8, size: 1 << 17, ..load },
        Load { n_streams: 2, size: 1 << 12, stride: Some(1 << 22), ..load },
    ]
}

#[test]
fn a_server_learns_the_options_of_two_loads_that_alternate() {
    let right = serve_alternating(two_loads(), 6, |_, file| file);
    assert!(right >= 95.0, "{right}");
}

/// The files do not show that something else has begun.
#[test]
fn a_server_learns_the_options_of_two_loads_on_the_same_file() {
    let right = serve_alternating(two_loads(), 6, |_, _| 1);
    assert!(right >= 95.0, "{right}");
}

/// Without a prediction every choice would be wrong.
#[test]
fn loads_that_alternate_every_second_are_foreseen() {
    let right = serve_alternating(two_loads(), 1, |turn, file| file + (turn << 32));
    assert!(right >= 90.0, "{right}");
}

/// The requests of a load change with the option, as they do with read-ahead;
/// the load stays the same pattern while it lasts.
#[test]
fn an_option_that_changes_the_requests_does_not_change_the_pattern() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    watcher.set_options(vec!["small".to_owned(), "large".to_owned()]);
    let load = Load { per_second: 400, n_slices: 4, ..Load::default() };
    let mut ids = Vec::new();
    for (option, size) in [(0, 1 << 12), (1, 1 << 20), (0, 1 << 12)] {
        watcher.set_option(option);
        for second in (Load { size, ..load }).requests(1).chunks(400) {
            second.iter().for_each(|request| watcher.observe(request));
            ids.extend(watcher.tick().map(|slice| slice.id));
        }
    }
    assert_eq!(ids.len(), 12);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

/// Two loads on files of their own take turns of irregular length, and the option
/// changes the requests of both: what begins under one option looks like another
/// load than what begins under the other. The share of right choices in the second
/// half, in percent; the first second of a turn cannot be right.
#[test]
fn loads_that_look_different_under_each_option_are_told_apart() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    watcher.set_options(vec!["small".to_owned(), "large".to_owned()]);
    let (mut noise, n_turns) = (Noise(3), 60_u64);
    let (mut n_right, mut n) = (0, 0);
    for turn in 0..n_turns {
        let which = (turn % 2) as usize;
        for second in 0..5 + noise.below(4) {
            let option = watcher.choose();
            let large = option == 1;
            let load = match which {
                0 => Load { size: if large { 1 << 17 } else { 1 << 12 }, ..Load::default() },
                _ => Load {
                    n_streams: 32,
                    size: if large { 1 << 18 } else { 1 << 12 },
                    stride: Some(1 << 24),
                    ..Load::default()
                },
            };
            let per_second = if option == which { 900 } else { 400 };
            let load = Load { per_second, n_slices: 1, ..load };
            for request in load.requests(turn * 100 + second) {
                watcher.observe(&Request { file: 7 + turn, ..request });
            }
            watcher.tick().expect("there were requests");
            watcher.reward(per_second as f64).unwrap();
            if turn >= n_turns / 2 && second > 0 {
                n += 1;
                n_right += u64::from(option == which);
            }
        }
    }
    let right = 100.0 * n_right as f64 / n as f64;
    assert!(right >= 90.0, "{right}");
}

/// A pattern is always followed by another one, which gets the reward of what
/// was chosen for the first. It must not be tried for ever.
#[test]
fn an_option_whose_reward_never_comes_is_not_tried_for_ever() {
    let mut maker = DecisionMaker::new(2, ChoiceConfig::default());
    maker.reward(PatternId(1), 0, 100.0).unwrap();
    let mut n_tried = 0;
    for _ in 0..200 {
        n_tried += maker.choose(PatternId(1));
        maker.reward(PatternId(1), 0, 100.0).unwrap();
    }
    assert!(n_tried < 10, "{n_tried}");
}

/// What a load is shows at the end of its first second; what it was when its files were
/// used last shows after some dozen requests.
#[test]
fn a_load_that_comes_again_on_its_files_is_known_when_it_begins() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let [reads, strided] = two_loads().map(|load| Load { n_slices: 1, per_second: 500, ..load });
    let mut families = [None, None];
    for turn in 0..6_u64 {
        let which = (turn % 2) as usize;
        for second in 0..3 {
            let load = if which == 0 { &reads } else { &strided };
            let mut guesses = Vec::new();
            for request in load.requests(turn * 10 + second) {
                watcher.observe(&Request { file: 7 + which as u64, ..request });
                if watcher.load_has_changed() {
                    watcher.cut(500_000_000);
                }
                if watcher.load_has_begun() {
                    guesses.push(watcher.guess_by_files());
                }
            }
            if second == 0 && turn >= 2 {
                assert_eq!(guesses.first(), Some(&families[which]), "turn {turn}");
                assert_eq!(watcher.expected(), families[which]);
            } else if turn > 0 || second > 0 {
                assert!(guesses.iter().all(|guess| second == 0 && guess.is_none()), "{guesses:?}");
            }
            families[which] = watcher.tick().map(|slice| slice.family);
        }
    }
    assert_ne!(families[0], families[1]);
}

#[test]
fn a_load_that_begins_in_another_way_on_its_files_is_of_the_same_family() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let mut serve = |size: u64, file: u64| {
        let load = Load { size, n_slices: 1, per_second: 500, ..Load::default() };
        let mut last = None;
        for second in 0..3 {
            for request in load.requests(second) {
                watcher.observe(&Request { file, ..request });
            }
            last = watcher.tick();
        }
        last.expect("there were requests")
    };
    let first = serve(1 << 12, 1);
    let other = serve(1 << 20, 2);
    assert_ne!(first.family, other.family);
    let again = serve(1 << 16, 1);
    assert_ne!(first.id, again.id, "it looks different");
    assert_eq!(first.family, again.family);
    assert_ne!(serve(1 << 14, 3).family, first.family, "nobody used this file");
}
