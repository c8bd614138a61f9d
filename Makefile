# Each target calls a script of scripts/. `make` alone lists the targets.
PORT ?= 8080
export PORT

.DEFAULT_GOAL := help
.PHONY: help first-run-test run run-servers release npm install image secrets web test test-fast test-tidb check lint oldest advisories sim soak chaos bench costs schema clean-data

help: ## This list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

run: ## Build (PROFILE=release: faster pages, slower build), seed if empty, and serve on 127.0.0.1:$PORT (8080), with SQLite in ./data (LIVE=0: its people do not act)
	@scripts/run.sh

run-servers: ## As run, with a private MariaDB and Redis in ./data/servers
	@scripts/run-servers.sh

release: ## Build the pages and a stripped binary, target/tidefeed
	@scripts/release.sh

npm: ## Pack a release for npm (`npx tidefeed`) into target/npm: the launcher, and the binary of this platform
	@scripts/npm-packages.sh target/npm

install: ## Build the pages and install the binary with cargo, into ~/.cargo/bin
	@scripts/install.sh

image: ## Make the container image as the Dockerfile does, without a registry (buildah), and run it on a read-only root
	@scripts/image.sh

secrets: ## Make the passwords that compose.yaml hands to MariaDB and Tidefeed, in ./secrets
	@scripts/secrets.sh

web: ## Build the web pages, if they or the schema have changed
	@scripts/web.sh

test: ## Everything: format, lints, all tests on SQLite, MariaDB, MySQL, Redis and Cassandra, the page in a browser
	@scripts/test.sh

test-fast: ## The Rust tests without servers: memory and SQLite, two minutes once built
	@scripts/test-fast.sh

check: ## Quick: form of commits and code, lints, the repository's own rules
	@scripts/check.sh

lint: check ## As check, and the page's types and lints, spelling, licences and sources of crates, workflows, Dockerfile
	@scripts/lint-tools.sh
	@scripts/web.sh
	npm --prefix web-demo run check

oldest: ## Compile everything with the oldest Rust that is supported; rustup fetches it
	rustup run --install "$$(sed -n 's/^rust-version = "\(.*\)"/\1.0/p' Cargo.toml)" \
		cargo check --locked --workspace --all-targets --all-features --target-dir target/oldest

advisories: ## Look for known defects in the crates that others wrote, in the database of rustsec.org
	@scripts/advisories.sh

sim: ## Simulate the system while everything fails: OPERATIONS (10000000) of clients; hunt for broken rules (KEEP=1: only)
	@scripts/sim.sh

first-run-test: ## Build as `make run` does; a binary without Cassandra or demo says so, and the tests share its crates
	@scripts/first-run-test.sh

soak: ## Every random test with fresh seeds: ROUNDS (10) times
	@scripts/soak.sh

chaos: ## Run on real servers that fail: OPERATIONS (100000) calls on each combination, and a table
	@scripts/chaos.sh

test-tidb: ## The tests of the store, the use cases and the API on TIDB=mysql://root@host:4000, servers of your own
	@scripts/test-tidb.sh

bench: ## Print the table of docs/benchmarks, or one ROW of it, with USERS (100000) in the world (release build)
	@scripts/bench.sh

costs: ## Measure what one of each operation costs, for `tidefeed plan` (release build, ten minutes)
	@scripts/costs.sh

schema: ## Print schema.graphql anew
	cargo run --locked -- schema > target/schema.graphql
	mv target/schema.graphql schema.graphql

clean-data: ## Remove ./data: the SQLite database and the private servers' files
	@scripts/clean-data.sh
