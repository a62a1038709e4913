// SPDX-License-Identifier: MIT OR Apache-2.0

//! CSV to native to CSV is the identity, on the traces in the tree, those of a
//! corpus (`IORACLE_CORPUS=DIR`), and on any that can be made up.

use std::fs;
use std::path::{Path, PathBuf};

use ioracle_trace::{Encoding, ReadOptions, TimePrecision, Trace, TraceFiles, export_csv, import};
use proptest::prelude::*;

fn corpora() -> Vec<PathBuf> {
    let in_tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces");
    let named = std::env::var_os("IORACLE_CORPUS").map(PathBuf::from);
    [Some(in_tree), named].into_iter().flatten().collect()
}

fn traces() -> Vec<PathBuf> {
    let entries = corpora().into_iter().flat_map(|corpus| fs::read_dir(corpus).unwrap());
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

fn open(path: &Path) -> Trace {
    Trace::open(path, ReadOptions::default()).unwrap()
}

/// The content of a table, whether compressed or not.
fn table(directory: &Path, name: &str) -> Vec<u8> {
    match fs::read(directory.join(format!("{name}.csv.zst"))) {
        Ok(packed) => zstd::decode_all(packed.as_slice()).unwrap(),
        Err(_) => fs::read(directory.join(format!("{name}.csv"))).unwrap(),
    }
}

#[test]
fn real_traces_come_back_byte_by_byte() {
    for path in traces() {
        let directory = tempfile::tempdir().unwrap();
        let [native, csv] = ["native", "csv"].map(|name| directory.path().join(name));
        let written = import(&open(&path), &native, TimePrecision::Exact, &mut |_| {}).unwrap();
        let exported = export_csv(&open(&native), &csv, None, Encoding::Zstd, &mut |_| {}).unwrap();
        assert_eq!((written.n_events, written.n_ranks), (exported.n_events, exported.n_ranks));
        for name in ["events", "stacks", "files"] {
            assert!(table(&path, name) == table(&csv, name), "{name} of {}", path.display());
        }
        let meta = |directory: &Path| fs::read(directory.join("meta.json")).unwrap();
        assert_eq!(meta(&path), meta(&csv));
    }
}

#[test]
fn a_rank_is_read_without_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let native = directory.path().join("native");
    let original = open(&traces()[0]);
    import(&original, &native, TimePrecision::Exact, &mut |_| {}).unwrap();
    let copy = open(&native);
    assert_eq!(copy.ranks().unwrap(), original.ranks().unwrap());
    for rank in original.ranks().unwrap() {
        let events = |trace: &Trace| -> Vec<_> {
            trace.events(Some(rank)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(events(&copy), events(&original));
    }
    let error = copy.events(Some(77)).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("77") && error.contains("events.ioracle"), "{error}");
}

#[test]
fn coarser_times_change_nothing_else() {
    for path in traces() {
        for times in [TimePrecision::Microsecond, TimePrecision::Percent] {
            check_coarser(&open(&path), times);
        }
    }
}

/// Short and long ones, so that what is cut off of a long one is more than a
/// short one.
fn span_ns() -> impl Strategy<Value = u64> {
    prop_oneof![0..3_u64, 0..2000_u64, 0..1_000_000_000_000_u64]
}

/// Rows of some ranks, whose times and numbers have been made to increase.
fn rows() -> impl Strategy<Value = String> {
    let row = (
        0..3_u32,
        0..3_u32,
        prop::sample::select(vec!["posix,write", "posix,lseek", "stdio,fopen", "hl,nc_put_vara"]),
        (1..4_u32, 0..4_u32, -1..5_i64, prop_oneof![Just(-1), 0..=i64::MAX]),
        (0..=i64::MAX, prop_oneof![0..100_i64, -i64::MAX..=i64::MAX]),
        (span_ns(), span_ns(), prop_oneof![0..3_u32, 0..3_u32, Just(9999)]),
        prop_oneof!["", "[ -~]{0,12}", "v start=[0-9]{1,20}:1", "[^\n\r]{0,5}"],
    );
    prop::collection::vec(row, 1..80).prop_map(|mut rows| {
        // A rank's rows together, in whatever order ranks come.
        rows.sort_by_key(|row| (row.0 * 2) % 3);
        let (mut now, mut sequence) = (0, 7);
        let mut text = String::new();
        for (rank, thread, function, places, amounts, (gap, duration, depth), detail) in rows {
            let (stack, file, handle, offset) = places;
            let (size, result) = amounts;
            now += gap;
            sequence += 1 + gap % 2;
            let end = now + duration;
            text.push_str(&format!(
                "{rank},{thread},{sequence},{function},{stack},{file},{handle},{offset},{size},{result},{now},{end},{depth},{detail}\n"
            ));
        }
        text
    })
}

const HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n";

fn made_up(events: &str, stacks: &str, files: &str) -> Trace {
    let parts = TraceFiles {
        encoding: Encoding::Plain,
        events: events.into(),
        stacks: stacks.into(),
        files: files.into(),
        optional: Default::default(),
        meta: None,
    };
    Trace::from_parts("made up", parts, ReadOptions::default()).unwrap()
}

/// Checks that a trace is the same with coarser times, but for these.
fn check_coarser(original: &Trace, times: TimePrecision) {
    let directory = tempfile::tempdir().unwrap();
    import(original, directory.path(), times, &mut |_| {}).unwrap();
    let copy = open(directory.path());
    let mut copied = copy.events(None).unwrap();
    for event in original.events(None).unwrap() {
        let (event, mut copy) = (event.unwrap(), copied.next().unwrap().unwrap());
        assert!(copy.start_ns <= copy.end_ns);
        assert!(copy.start_ns <= event.start_ns && copy.end_ns <= event.end_ns);
        if times == TimePrecision::Microsecond {
            assert!(event.start_ns - copy.start_ns < 1000);
            assert!(event.end_ns - copy.end_ns < 1000);
        }
        (copy.start_ns, copy.end_ns) = (event.start_ns, event.end_ns);
        assert_eq!(copy, event);
    }
    assert!(copied.next().is_none());
}

/// A call two levels down whose enclosing call is missing, before one that is
/// one level down.
#[test]
fn a_level_that_is_skipped_does_not_turn_time_back() {
    let rows = "0,0,0,hl,H5Dwrite,1,1,3,-1,1,0,1000,900000,0,\n\
        0,0,1,posix,write,2,1,3,-1,1,1,49354,49354,2,\n\
        0,0,2,posix,write,2,1,3,-1,1,1,49355,49355,2,\n\
        0,0,3,mpiio,mpi_write,2,1,3,-1,1,0,49356,80000,1,\n";
    let trace = made_up(&format!("{HEADER}{rows}"), "id,frames\n1,a\n2,b\n", "id,path\n1,x\n");
    check_coarser(&trace, TimePrecision::Percent);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn made_up_traces_come_back_byte_by_byte(rows in rows()) {
        let events = format!("{HEADER}{rows}");
        // Ids with gaps, and rows that nothing refers to.
        let stacks = "id,frames\n0,unused\n1,app+0x1;libc+0x2\n2,\n3,a,\"b\"\n4000000000,z\n";
        let files = "id,path\n1,out/a\n2,b, \"c\"\n3,\n9,unused\n";
        let trace = made_up(&events, stacks, files);
        let directory = tempfile::tempdir().unwrap();
        let [native, csv] = ["native", "csv"].map(|name| directory.path().join(name));
        import(&trace, &native, TimePrecision::Exact, &mut |_| {}).unwrap();
        export_csv(&open(&native), &csv, None, Encoding::Plain, &mut |_| {}).unwrap();
        let read = |name: &str| fs::read_to_string(csv.join(format!("{name}.csv"))).unwrap();
        prop_assert_eq!(read("events"), events);
        prop_assert_eq!(read("stacks"), stacks);
        prop_assert_eq!(read("files"), files);
        for times in [TimePrecision::Microsecond, TimePrecision::Percent] {
            check_coarser(&trace, times);
        }
    }
}
