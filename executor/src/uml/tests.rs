//! Tests that see more of guests than their observations.

// Below a name by which a run of all tests can skip it: `--skip guests::`.
mod guests {
    use crate::guests::{Kernel, Outcome};
    use crate::uml::coverage::tests::{assert_as_gcov, gcov, write_data};
    use crate::uml::image::Cache;
    use crate::uml::mode::Mode;
    use crate::uml::pair::Pair;

    /// Counts of a kernel held to those of gcov: needs `testbed uml build --kernel 6.12 --coverage`.
    #[test]
    fn counts_of_rdma_rxe_are_those_of_gcov() {
        let kernel: Kernel = "6.12-coverage".parse().unwrap();
        let image = Cache::open(None).unwrap().image(&kernel).unwrap();
        let code = image.code().unwrap();
        let mut pair = Pair::boot([&image, &image], Mode::Exact, None).unwrap();
        let read = |pair: &Pair| pair.pids().map(|pid| code.read(pid).unwrap());
        let before = read(&pair);
        let text = "[traffic]\nrdma-verb = \"send_read\"\nnum-msgs-per-qp = 4\nmessage-size = 10240\n\
        [[event]]\nqpn = 1\npsn = 3\ntype = \"drop\"\n";
        let config = corpus::from_toml("test.toml", text).unwrap();
        let outcome = pair.run(&config);
        assert!(matches!(outcome, Outcome::Ran(_)));
        let after = read(&pair);
        for host in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            let readings = (&before[host], &after[host]);
            let notes = write_data(code, &image.sources(), readings, folder.path());
            assert_as_gcov(code, readings, &gcov(folder.path(), &notes));
        }
    }
}
