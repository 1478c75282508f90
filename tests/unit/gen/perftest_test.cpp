// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest.h"

#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/perf/options/perftest_options.h"
#include "support/captures.h"

namespace lw::gen::perftest {
namespace {

using testing::HasSubstr;

std::string translated(const std::string& line, Run run = Run::simulated) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  const auto translation = translate(words, run);
  if (!translation) return "refused: " + translation.error().message;
  return fmt::format("{}", fmt::join(translation->words, " "));
}

TEST(Perftest, OptionsKeepTheirMeaning) {
  EXPECT_EQ(translated("ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -n 15000 --report_gbits -F"),
            "--tx-depth 2048 --qps 4 --iterations 15000 --op write --timeout 14");
  EXPECT_EQ(translated("ib_send_lat -s64 -n 5 --qp-timeout=20"),
            "--size 64 --iterations 5 --timeout 20 --op send --pattern lat");
  EXPECT_EQ(translated("ib_read_bw -aF -o 8 -D 10 -f 2 -m 4096"),
            "--all --reads 8 --responder-reads 8 --duration 10 --margin 2 --mtu 4096 --op read "
            "--timeout 14");
  EXPECT_EQ(translated("ib_atomic_bw -A CMP_AND_SWAP -n 7 -u 1 --out_json"),
            "--iterations 7 --timeout 1 --json --op compare-swap");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -c UC -p 7 192.0.2.1", Run::port),
            "--iterations 7 --timeout 1 --transport uc --service 7 --op write --peer 192.0.2.1");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 --rate_limit 10 --rate_units g"),
            "--iterations 7 --timeout 1 --op write --rate-control fixed --qp-rate 10Gb/s");
  EXPECT_EQ(translated("ib_send_bw -n 7 -u 1 -r 64"),
            "--iterations 7 --timeout 1 --receives 64 --op send");
}

/// As strtol() and strtof() read them.
TEST(Perftest, NumbersAreReadAsPerftestDoes) {
  EXPECT_EQ(translated("ib_write_bw -q 0x10 -n 0x400 -u 010 --tclass=0x68", Run::port),
            "--qps 16 --iterations 1024 --timeout 8 --tclass 104 --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -s 0x1000"),
            "--iterations 7 --timeout 1 --size 4096 --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -s 64K"),
            "--iterations 7 --timeout 1 --size 64K --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -s 64k"),
            "--iterations 7 --timeout 1 --size 64 --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -w 90Gb --report_gbits --rate_limit 5x"),
            "--iterations 7 --timeout 1 --expect bw_average_gbps >= 90 --op write --rate-control "
            "fixed --qp-rate 5Gb/s");
  EXPECT_EQ(translated("ib_write_bw --use_cuda -n 7 -u 1 host"),
            "--iterations 7 --timeout 1 --op write");
}

TEST(Perftest, BothWaysAndWithoutEnd) {
  EXPECT_EQ(translated("ib_write_bw -b -n 7 -u 1 --report-both"),
            "--bidirectional --iterations 7 --timeout 1 --op write");
  EXPECT_EQ(translated("ib_send_lat -b -n 7 -s 2 -u 1"),
            "--iterations 7 --size 2 --timeout 1 --op send --pattern lat");
  EXPECT_EQ(translated("ib_write_bw --run_infinitely -D 2 -u 1"),
            "--forever --duration 2 --timeout 1 --op write");
}

/// perftest compares a limit with the rate that it shows, in MiB/s or in Gb/s.
TEST(Perftest, LimitsAreExpectations) {
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -w 90 --report_gbits"),
            "--iterations 7 --timeout 1 --expect bw_average_gbps >= 90 --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -w 1000"),
            "--iterations 7 --timeout 1 --expect bw_average_gbps >= 8.388608 --op write");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -y 0.5"),
            "--iterations 7 --timeout 1 --expect msg_rate_mpps >= 0.5 --op write");
  EXPECT_THAT(translated("ib_write_bw -w much"), HasSubstr("found \"much\""));
}

std::string expanded(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  bool flag = false;
  std::string value;
  app::Options own;
  own.add_flag("-a,--all", flag, "");
  own.add("-q,--qps", app::text(value), "N", "");
  own.add("--port", app::text(value), "PORT", "");
  const auto all = expand(words, own, words[1] == "sim" ? Run::simulated : Run::port);
  return all ? fmt::format("{}", fmt::join(*all, " ")) : "refused: " + all.error().message;
}

TEST(Perftest, OptionsWithoutALineAreTakenToo) {
  EXPECT_EQ(expanded("roce-gen sim -q 4 --iters 7 -a -R --qp=8 --qp-timeout=2"),
            "roce-gen sim -q 4 -a --iterations 7 --qps 8 --timeout 2");
  // Ours where both have it, and nothing else is added.
  EXPECT_EQ(expanded("roce-gen perf --port eth1 -p 7"), "roce-gen perf --port eth1 --service 7");
  EXPECT_EQ(expanded("roce-gen sim --rate_limit 5"),
            "roce-gen sim --rate-control fixed --qp-rate 5Gb/s");
  EXPECT_EQ(expanded("roce-gen perf --what -1"), "roce-gen perf --what -1");
  EXPECT_EQ(expanded("roce-gen perf --help"), "roce-gen perf --help");
  EXPECT_EQ(expanded("roce-gen perf --port eth1 --tos 3 -S 2"),
            "roce-gen perf --port eth1 --tos 3 --sl 2");
  EXPECT_THAT(expanded("roce-gen perf --iters"), HasSubstr("expected a value"));
}

TEST(Perftest, ADeviceHasItsOwnOptions) {
  EXPECT_EQ(translated("ib_write_bw -d mlx5_0 -x 3 -t 64 -q 4 -n 7 -u 1 -e -p 7 host", Run::device),
            "--device mlx5_0 --gid 3 --buffers 64 --qps 4 --iterations 7 --timeout 1 --poll event "
            "--op write --peer host:7");
  EXPECT_EQ(translated("ib_send_lat -n 7 -s 2 -u 1 host", Run::device),
            "--iterations 7 --size 2 --timeout 1 --op send --peer host");
  EXPECT_EQ(translated("ib_write_bw -b -u 1 --report-both", Run::device),
            "--bidirectional --timeout 1 --op write");
  EXPECT_THAT(translated("ib_write_bw --rate_limit 5", Run::device), HasSubstr("refused: "));
  const std::vector<std::string> other = {"roce-endpoint", "lat", "--", "ib_write_bw"};
  const auto refused = expand_device(other, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "ib_write_bw: roce-endpoint lat is not its command");
}

TEST(Perftest, AServersLineHasItsPort) {
  const auto served = [](std::vector<std::string> words) {
    const auto all = expand_server(words);
    return all ? fmt::format("{}", fmt::join(*all, " ")) : "refused: " + all.error().message;
  };
  EXPECT_EQ(served({"respond", "--port", "x", "--", "ib_write_bw", "-p", "7", "-q4", "-b"}),
            "respond --port x --service 7");
  EXPECT_EQ(served({"respond", "--port", "x"}), "respond --port x");
  EXPECT_THAT(served({"respond", "--", "ib_write_bw", "host"}), HasSubstr("names no server"));
  EXPECT_THAT(served({"respond", "--"}), HasSubstr("expected a line"));
  EXPECT_THAT(served({"respond", "--", "ib_write_bw", "--what"}), HasSubstr("no such option"));
}

TEST(Perftest, DefaultsAreThoseOfPerftest) {
  EXPECT_EQ(translated("ib_write_bw -D 10"), "--duration 10 --op write --margin 2 --timeout 14");
  EXPECT_EQ(translated("ib_write_bw"), "--op write --timeout 14 --iterations 5000");
  EXPECT_EQ(translated("ib_read_bw"), "--op read --timeout 14 --iterations 1000");
  EXPECT_EQ(translated("ib_write_lat"), "--op write --pattern lat --timeout 14 --size 2");
}

TEST(Perftest, WhatWouldChangeTheResultIsRefused) {
  EXPECT_THAT(translated("ib_write_bw --reversed"), HasSubstr("refused: --reversed: "));
  EXPECT_THAT(translated("ib_write_bw --what"),
              HasSubstr("--what: perftest up to 6.29 (26.04) has no such option"));
  EXPECT_THAT(translated("ib_write_bw -q"), HasSubstr("-q, --qp: expected a value"));
  EXPECT_THAT(translated("ib_write_bw --report_gbits=1"), HasSubstr("takes no value"));
  EXPECT_THAT(translated("ib_write_bw -c DC"), HasSubstr("expected RC, UC or UD"));
  EXPECT_THAT(translated("ib_write_bw --rate_limit 5 --rate_units p"), HasSubstr("g or M"));
  EXPECT_THAT(translated("ib_write_bw --rate_limit x"), HasSubstr("found \"x\""));
  EXPECT_THAT(translated("ib_write_bw a b"), HasSubstr("expected one server"));
  EXPECT_THAT(translated("perftest"), HasSubstr("expected ib_write_bw"));
}

TEST(Perftest, EveryRowHasItsText) {
  std::set<std::string_view> names, letters;
  for (const PerftestOption& option : options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    const bool once = option.letter.empty() || letters.insert(option.letter).second;
    EXPECT_TRUE(once || by_letter(option.letter.front())->treatment == option.treatment);
    EXPECT_EQ(option.ours.empty(),
              option.treatment != Treatment::same && option.treatment != Treatment::of_port)
        << option.name;
    EXPECT_TRUE(option.treatment == Treatment::same || !option.remark.empty()) << option.name;
  }
}

/// Words before the program's name are those of other programs: they set its environment.
TEST(Perftest, TheEnvironmentOfALineIsSkippedWithANote) {
  const auto notes_of = [](std::vector<std::string> words) {
    const auto translation = translate(words, Run::simulated);
    EXPECT_TRUE(translation) << translation.error().message;
    return translation ? fmt::format("{}", fmt::join(translation->notes, "\n")) : "";
  };
  EXPECT_EQ(translated("./ib_write_bw -n 7 -u 1"), translated("ib_write_bw -n 7 -u 1"));
  EXPECT_EQ(translated("LD_PRELOAD=x.so sudo taskset -c 3,5 /usr/bin/ib_write_bw -n 7 -u 1"),
            translated("ib_write_bw -n 7 -u 1"));
  EXPECT_THAT(notes_of({"numactl", "-N", "0", "--", "/opt/ib_send_lat", "-u", "1"}),
              HasSubstr("\"numactl -N 0 -- /opt/\" is skipped"));
  EXPECT_THAT(notes_of({"ib_send_lat", "-u", "1"}), testing::Not(HasSubstr("is skipped")));
  EXPECT_THAT(translated("-q 4 ib_write_bw"), HasSubstr("expected ib_write_bw"));
  EXPECT_THAT(translated("sudo taskset 1 raw_ethernet_bw --client"), HasSubstr("no RDMA"));
}

/// getopt_long() takes a beginning that fits one option only.
TEST(Perftest, UniqueBeginningsOfLongNamesAreTaken) {
  EXPECT_EQ(translated("ib_write_bw --bidir --iter=7 --qp-t 1 --report_gb --CPU --dur 3"),
            "--bidirectional --iterations 7 --timeout 1 --duration 3 --op write");
  // The exact name, although others begin with it.
  EXPECT_EQ(translated("ib_write_bw --qp 4 -n 7 -u 1"),
            "--qps 4 --iterations 7 --timeout 1 --op write");
  // Unique in 4.5; later releases have --cqe_poll too.
  EXPECT_EQ(translated("ib_write_bw --cq 4 -n 7 -u 1"), "--iterations 7 --timeout 1 --op write");
  EXPECT_THAT(translated("ib_write_bw --rate 5"),
              HasSubstr("--rate: is the beginning of --rate_limit, --rate_limit_type"));
  // One option with two names.
  EXPECT_EQ(translated("ib_write_bw --com -n 7 -u 1"), "--iterations 7 --timeout 1 --op write");
}

TEST(Perftest, NewerOptionsAreTakenOrRefusedForTheirOwnReason) {
  EXPECT_EQ(translated("ib_write_bw --write_with_imm -n 7 -u 1"),
            "--imm --iterations 7 --timeout 1 --op write");
  EXPECT_EQ(translated("ib_send_lat --send_with_imm -s 2 -n 7 -u 1 --cqe_poll 4"),
            "--imm --size 2 --iterations 7 --timeout 1 --op send --pattern lat");
  EXPECT_EQ(translated("ib_write_bw --bind_source_ip 1.1.1.1 --data_validation -n 7 -u 1"),
            "--iterations 7 --timeout 1 --op write");
  EXPECT_THAT(translated("ib_read_bw --write_with_imm"), HasSubstr("goes with ib_write_bw"));
  EXPECT_THAT(translated("ib_write_bw --congest_type DCQCN"), HasSubstr("--rate-control"));
}

/// Nothing of a simulated run depends on them; through a port they would change frames or memory.
TEST(Perftest, WhatChangesNoSimulationIsTakenThere) {
  for (const std::string option : {"--use_cuda=0", "--use-srq", "--payload_file_path=x"}) {
    EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 " + option),
              "--iterations 7 --timeout 1 --op write");
    EXPECT_THAT(translated("ib_write_bw " + option, Run::port), HasSubstr("refused: "));
  }
}

TEST(Perftest, TheClassIsThatOfAPortOrADevice) {
  for (const auto& [option, ours] : {std::pair{"-T 41", "--tos 41"},
                                     {"--tclass 96", "--tclass 96"},
                                     {"-S 3", "--sl 3"},
                                     {"--flow_label 7", "--flow_label 7"},
                                     {"-L 4", "--hop-limit 4"}}) {
    const std::string line = std::string("ib_write_bw -n 7 -u 1 ") + option;
    EXPECT_EQ(translated(line), "--iterations 7 --timeout 1 --op write");
    EXPECT_THAT(translated(line, Run::port), HasSubstr(ours));
    EXPECT_THAT(translated(line, Run::device), HasSubstr(ours));
  }
}

TEST(Perftest, ALineHasAtLeastFiveIterations) {
  EXPECT_THAT(translated("ib_write_bw -n 4"), HasSubstr("expects at least 5, found 4"));
  EXPECT_EQ(translated("ib_write_bw -n 5 -u 1"), "--iterations 5 --timeout 1 --op write");
}

TEST(Perftest, TheManualHasTheTable) {
  std::ifstream file(test::source_root() / "docs/reference/roce-gen-perf.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(manual_table()));
}

}  // namespace
}  // namespace lw::gen::perftest
