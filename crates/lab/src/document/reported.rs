// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report's Tables 6 to 10, and what a simple prototype reaches.

/// One application of the report.
pub(super) struct ReportedApplication {
    pub application: &'static str,
    /// Table 6: least, largest, mean size and deviation, as printed.
    pub sizes: [&'static str; 4],
    /// Table 7: contiguous accesses and Omnisc'IO's offsets, in percent.
    pub offsets: [&'static str; 2],
    /// Table 8, in percent.
    pub hit_ratio: &'static str,
    /// Table 9: time difference and immediate reaccess, in seconds.
    pub times: [&'static str; 2],
    /// Table 10: overhead and its deviation, in microseconds.
    pub overhead: [&'static str; 2],
}

/// All applications of the report.
pub(super) const REPORTED: [ReportedApplication; 6] = [
    ReportedApplication {
        application: "CM1 (POSIX)",
        sizes: ["4 B", "562.5 KiB", "212.9 KiB", "268.2 KiB"],
        offsets: ["47.4", "92.4"],
        hit_ratio: "84.7",
        times: ["0.197", "0.735"],
        overhead: ["20.51", "18.27"],
    },
    ReportedApplication {
        application: "CM1 (Gzip)",
        sizes: ["4 B", "28.1 KiB", "5.5 KiB", "10.0 KiB"],
        offsets: ["53.2", "82.7"],
        hit_ratio: "79.3",
        times: ["0.199", "0.791"],
        overhead: ["20.20", "15.56"],
    },
    ReportedApplication {
        application: "CM1 (MPI-I/O)",
        sizes: ["4 B", "562.5 KiB", "109.5 KiB", "219.8 KiB"],
        offsets: ["72.7", "98.2"],
        hit_ratio: "96.3",
        times: ["0.060", "0.406"],
        overhead: ["19.95", "14.50"],
    },
    ReportedApplication {
        application: "Nek5000",
        sizes: ["4 B", "96.0 KiB", "20.1 KiB", "29.7 KiB"],
        offsets: ["99.4", "99.8"],
        hit_ratio: "99.4",
        times: ["0.011", "0.049"],
        overhead: ["23.44", "18.96"],
    },
    ReportedApplication {
        application: "GTC",
        sizes: ["4 B", "8.0 KiB", "7.8 KiB", "100.0 B"],
        offsets: ["99.9", "100"],
        hit_ratio: "100",
        times: ["0.001", "0.006"],
        overhead: ["19.03", "27.79"],
    },
    ReportedApplication {
        application: "LAMMPS",
        sizes: ["3 B", "2.70 MiB", "851.1 KiB", "1.24 MiB"],
        offsets: ["99.9", "100"],
        hit_ratio: "99.4",
        times: ["0.000", "0.003"],
        overhead: ["22.10", "14.72"],
    },
];

/// What a context-mixing prototype that keeps the whole history reaches on a
/// trace, in percent.
pub(super) struct Prototype {
    pub trace: &'static str,
    pub context: f64,
    pub offset: f64,
    pub size_exact: f64,
    pub hit_ratio: f64,
    pub hit_ratio_stationary: f64,
}

/// The prototype's numbers, by trace.
pub(super) const PROTOTYPE: [Prototype; 7] = [
    prototype("btio-pnetcdf", [99.2, 99.7, 99.6, 99.5, 100.0]),
    prototype("cm1-grads", [96.6, 98.8, 99.2, 98.3, 99.0]),
    prototype("gromacs-water", [99.1, 99.9, 99.3, 99.5, 99.8]),
    prototype("h5bench-write", [98.3, 66.9, 93.6, 77.0, 56.8]),
    prototype("ior-posix-shared", [99.7, 98.9, 100.0, 98.9, 100.0]),
    prototype("lammps-melt", [98.6, 99.6, 76.6, 95.1, 95.6]),
    prototype("nco-ncea", [98.5, 99.3, 99.1, 99.1, 99.1]),
];

const fn prototype(trace: &'static str, numbers: [f64; 5]) -> Prototype {
    let [context, offset, size_exact, hit_ratio, hit_ratio_stationary] = numbers;
    Prototype { trace, context, offset, size_exact, hit_ratio, hit_ratio_stationary }
}
