// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::gen::perftest {
namespace {

using testing::HasSubstr;

std::string translated(const std::string& line, bool simulated = true) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  const auto translation = translate(words, simulated);
  if (!translation) return "refused: " + translation.error().message;
  return fmt::format("{}", fmt::join(translation->words, " "));
}

TEST(Perftest, OptionsKeepTheirMeaning) {
  EXPECT_EQ(translated("ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -n 15000 --report_gbits -F"),
            "--tx-depth 2048 --qps 4 --iterations 15000 --op write --timeout 14");
  EXPECT_EQ(translated("ib_send_lat -s64 -n 5 --qp-timeout=20"),
            "--size 64 --iterations 5 --timeout 20 --op send --pattern lat");
  EXPECT_EQ(translated("ib_read_bw -aF -o 8 -D 10 -m 4096"),
            "--all --reads 8 --responder-reads 8 --duration 10 --mtu 4096 --op read --timeout 14");
  EXPECT_EQ(translated("ib_atomic_bw -A CMP_AND_SWAP -n 7 -u 1 --out_json"),
            "--iterations 7 --timeout 1 --json --op compare-swap");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 -c UC -p 7 192.0.2.1", false),
            "--iterations 7 --timeout 1 --transport uc --service 7 --op write --peer 192.0.2.1");
  EXPECT_EQ(translated("ib_write_bw -n 7 -u 1 --rate_limit 10 --rate_units g"),
            "--iterations 7 --timeout 1 --op write --rate-control fixed --qp-rate 10Gb/s");
  EXPECT_EQ(translated("ib_send_bw -n 7 -u 1 -r 64"),
            "--iterations 7 --timeout 1 --receives 64 --op send");
}

TEST(Perftest, DefaultsAreThoseOfPerftest) {
  EXPECT_EQ(translated("ib_write_bw"), "--op write --timeout 14 --iterations 5000");
  EXPECT_EQ(translated("ib_read_bw"), "--op read --timeout 14 --iterations 1000");
  EXPECT_EQ(translated("ib_write_lat"), "--op write --pattern lat --timeout 14 --size 2");
}

TEST(Perftest, WhatWouldChangeTheResultIsRefused) {
  EXPECT_THAT(translated("ib_write_bw -b"), HasSubstr("refused: -b, --bidirectional: "));
  EXPECT_THAT(translated("ib_write_bw --what"),
              HasSubstr("--what: ib_write_bw has no such option"));
  EXPECT_THAT(translated("ib_write_bw -q"), HasSubstr("-q, --qp: expected a value"));
  EXPECT_THAT(translated("ib_write_bw --report_gbits=1"), HasSubstr("takes no value"));
  EXPECT_THAT(translated("ib_write_bw -c DC"), HasSubstr("expected RC, UC or UD"));
  EXPECT_THAT(translated("ib_write_bw --rate_limit 5 --rate_units p"), HasSubstr("g or M"));
  EXPECT_THAT(translated("ib_write_bw --rate_limit 5x"), HasSubstr("found \"5x\""));
  EXPECT_THAT(translated("ib_write_bw a b"), HasSubstr("expected one server"));
  EXPECT_THAT(translated("perftest"), HasSubstr("expected ib_write_bw"));
}

TEST(Perftest, EveryRowHasItsText) {
  std::set<std::string_view> names, letters;
  for (const Option& option : options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(option.letter.empty() || letters.insert(option.letter).second) << option.letter;
    EXPECT_EQ(option.ours.empty(), option.treatment != Treatment::same) << option.name;
    EXPECT_TRUE(option.treatment == Treatment::same || !option.remark.empty()) << option.name;
  }
}

TEST(Perftest, TheManualHasTheTable) {
  const char* source = std::getenv("LONGWIRE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SKIPPED: LONGWIRE_SOURCE is not set";
  std::ifstream file(std::string(source) + "/docs/reference/roce-gen-perf.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(manual_table()));
}

}  // namespace
}  // namespace lw::gen::perftest
