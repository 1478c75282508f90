// SPDX-License-Identifier: BSD-3-Clause
#include "nic/interface.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lw::nic {
namespace {

bool ip(const std::string& words) { return std::system(("ip link " + words).c_str()) == 0; }

/// A veth pair, set up at both ends.
class VethTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, for interfaces: run as root";
    if (!create()) GTEST_SKIP() << "needs veth interfaces: ip link add fails";
  }
  void TearDown() override {
    if (interface_.index() != 0) ip("del " + interface_.name());
  }
  bool create() const {
    const std::string peer = interface_.name() + "p";
    return ip("add " + interface_.name() + " type veth peer name " + peer) &&
           ip("set " + interface_.name() + " up") && ip("set " + peer + " up");
  }

  NetworkInterface interface_{"lwi" + std::to_string(getpid())};
};

TEST_F(VethTest, SetDownLasts) {
  EXPECT_TRUE(interface_.is_lasting());
  ASSERT_TRUE(interface_.set_up(false));
  EXPECT_FALSE(interface_.is_running());
  EXPECT_TRUE(interface_.is_lasting());
}

// The kernel shows the interface as down for a while before it is gone: in 22 of 60 deletions, a
// reader of the flags alone took it for a lost link.
TEST_F(VethTest, BeingDeletedDoesNotLast) {
  constexpr int kDeletions = 20;
  for (int i = 0; i < kDeletions; ++i) {
    ASSERT_TRUE(i == 0 || create());
    // The kernel calls a new interface running a little after it is up.
    while (!interface_.is_running()) std::this_thread::yield();
    const std::jthread deletes([this] { ip("del " + interface_.name()); });
    while (interface_.is_running()) std::this_thread::yield();
    EXPECT_FALSE(interface_.is_lasting()) << "deletion " << i;
  }
}

}  // namespace
}  // namespace lw::nic
