// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <gtest/gtest.h>

#include "support/ring_ports.h"

namespace lw::impair {

/// DPDK starts once per process: all tests that need it are of this suite, with ports of their own.
class ForwarderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<nic::PortSpec> specs;
    for (std::size_t i = 0; i < 10; ++i)
      specs.push_back(*nic::parse_port_spec(test::RingPorts::name(i)));
    auto eal = nic::Eal::start({.ports = specs, .cores = {}});
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(std::move(*eal));
    ASSERT_TRUE(MbufAccess::register_transit());
  }
  static void TearDownTestSuite() { eal_.reset(); }
  static inline std::optional<nic::Eal> eal_;
};

}  // namespace lw::impair
