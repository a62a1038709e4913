// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is predicted of the variables of programs that use libraries.

use std::process::Command;

use serde_json::{Value, json};

use crate::compile::{has_header, other};
use crate::run::{Done, IORACLE, Program};

/// What `ioracle predict --variables` says after this many accesses of a run.
fn predicted(done: &Done, more: &[&str]) -> Value {
    let mut command = Command::new(IORACLE);
    command.arg("predict").arg(done.beside().join("trace")).args(["--variables", "--json"]);
    let output = command.args(more).output().expect("ioracle starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a JSON document")
}

/// The variables of a list of operations, and where in them.
fn places(operations: &Value) -> Vec<Value> {
    let of =
        |operation: &Value| json!([operation["file"], operation["variable"], operation["offset"]]);
    operations.as_array().expect("operations").iter().map(of).collect()
}

/// The file of the last step was once predicted for ever, beyond its end.
#[test]
fn datasets_in_blocks_are_predicted_in_the_files_of_the_steps_to_come() {
    let Some(program) = other("h5cc", "hdf5_steps.c", &["-shlib", "-O2"]) else { return };
    let done = Program::new(program).recorded();
    assert_eq!(done.code, Some(0), "{}", done.err);
    let in_the_midst = predicted(&done, &["--after", "170", "-n", "60"]);
    assert_eq!(places(&in_the_midst["ahead"]), places(&in_the_midst["observed"]));
    let next: Vec<Value> = ["q_012.h5", "q_013.h5"]
        .into_iter()
        .flat_map(|file| ["/rho 1", "/u"].map(|variable| (file, variable)))
        .flat_map(|(file, variable)| {
            (0..11).map(move |block| json!([file, variable, block * 2048]))
        })
        .collect();
    assert_eq!(places(&predicted(&done, &["--after", "all", "-n", "44"])["ahead"]), next);
}

/// netCDF-4 stores by HDF5: what the program does is one access, not two.
#[test]
fn an_access_to_a_variable_of_netcdf_4_is_reported_once() {
    if !has_header("netcdf.h", "libnetcdf-dev") {
        return;
    }
    let Some(program) = other("cc", "netcdf_habits.c", &["-O2", "-lnetcdf"]) else { return };
    let done = Program::new(program).recorded();
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = predicted(&done, &["--after", "200"]);
    assert_eq!(places(&document["ahead"]), places(&document["observed"]));
    let names: Vec<&Value> =
        document["ahead"].as_array().unwrap().iter().map(|next| &next["operation"]).collect();
    assert!(names.iter().all(|name| name.as_str().unwrap().starts_with("nc_put_")), "{names:?}");
    assert_eq!(done.summary()["predicted_variables"]["operations"], 240);
}
