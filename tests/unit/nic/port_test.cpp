// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "nic/clock.h"
#include "nic/frame_arena.h"
#include "nic/frame_stamps.h"

namespace lw::nic {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kFrameSize = 9600;

/// EAL starts once a process, so all tests here share it.
class PortTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto eal = Eal::start({});
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(std::move(*eal));
  }
  static void TearDownTestSuite() { eal_.reset(); }

  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("longwire-nic-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    auto pool = Pool::create("test", {.buffers = 4096, .frame_size = kFrameSize});
    ASSERT_TRUE(pool) << pool.error().message;
    pool_.emplace(std::move(*pool));
  }
  void TearDown() override {
    pool_.reset();
    std::filesystem::remove_all(folder_);
  }

  Port open(const std::string& text) {
    auto port = Port::open(*eal_, *parse_port_spec(text), *pool_);
    if (!port) throw std::runtime_error(port.error().message);
    return std::move(*port);
  }
  Error open_error(const std::string& text) {
    auto port = Port::open(*eal_, *parse_port_spec(text), *pool_);
    return port ? Error{} : port.error();
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  rte_mbuf* frame(std::size_t size, std::uint8_t fill) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_->get());
    char* data = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(size));
    std::memset(data, fill, size);
    return buffer;
  }

  static inline std::optional<Eal> eal_;
  std::optional<Pool> pool_;
  std::filesystem::path folder_;
};

/// The only buffer of its frame, with this byte everywhere.
bool is_filled(const rte_mbuf* frame, std::uint8_t fill) {
  const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
  return rte_pktmbuf_is_contiguous(frame) && rte_mbuf_refcnt_read(frame) == 1 &&
         frame->data_len == frame->pkt_len &&
         std::all_of(data, data + frame->data_len, [&](std::uint8_t byte) { return byte == fill; });
}

std::size_t size_of(const rte_mbuf* frame) { return rte_pktmbuf_pkt_len(frame); }

/// What a driver writes into the field for receive timestamps, of frames that have one and that
/// have none.
TEST_F(PortTest, StampsOfFramesAreRead) {
  auto stamps = FrameStamps::find();
  ASSERT_TRUE(stamps);
  int field = -1;
  std::uint64_t flag = 0;
  ASSERT_EQ(rte_mbuf_dyn_rx_timestamp_register(&field, &flag), 0);
  std::array frames = {frame(60, 0), frame(60, 0)};
  const auto write = [&](std::uint64_t stamp) {
    *RTE_MBUF_DYNFIELD(frames[0], field, rte_mbuf_timestamp_t*) = stamp;
    frames[0]->ol_flags |= flag;
  };
  // DPDK's pcap driver: microseconds of CLOCK_REALTIME.
  write(1'700'000'000'123'456);
  const std::int64_t before = wall_clock_ns();
  stamps->read(frames);
  ASSERT_EQ(stamps->last().size(), 2U);
  EXPECT_EQ(stamps->last()[0], 1'700'000'000'123'456'000);
  EXPECT_GE(stamps->last()[1], before);  // received now
  EXPECT_EQ(stamps->uncertainty(), std::chrono::microseconds(1));
  // A device: ticks of its clock, here of 4 ns, 5 ms ago.
  const auto ticks = [] {
    return static_cast<std::uint64_t>(now().time_since_epoch().count() / 4);
  };
  DeviceClock clock([&] { return std::optional(ticks()); }, [] { return now(); });
  ASSERT_TRUE(clock.start(std::chrono::milliseconds(10)));
  stamps->count_in(std::move(clock));
  write(ticks() - 1'250'000);
  const std::int64_t stamped_at = wall_clock_ns();
  stamps->read(frames);
  const std::int64_t error = stamps->last()[0] - (stamped_at - 5'000'000);
  EXPECT_LT(std::abs(error), 100'000) << error;
  EXPECT_LT(stamps->uncertainty(), std::chrono::milliseconds(1));
  rte_pktmbuf_free_bulk(frames.data(), frames.size());
}

/// Frames of many lengths that leave after a while, some much later: each keeps its bytes, and all
/// space is used again.
TEST_F(PortTest, AnArenaKeepsEachFrameApart) {
  for (const bool in_eal : {false, true}) {
    auto arena = FrameArena::create(in_eal ? "arena in EAL" : "arena", 2'000'000, in_eal);
    ASSERT_TRUE(arena) << arena.error().message;
    struct Waiting {
      rte_mbuf* frame;
      std::uint8_t fill;
      unsigned until;
    };
    std::vector<Waiting> inside;
    unsigned refused = 0;
    for (unsigned i = 0; i < 20'000; ++i) {
      const auto fill = static_cast<std::uint8_t>(i);
      rte_mbuf* original = frame(1 + i * 7919 % (i % 10 == 0 ? kFrameSize : 300), fill);
      rte_mbuf* copy = arena->copy(original);
      rte_pktmbuf_free(original);
      refused += copy == nullptr;
      if (copy) inside.push_back({copy, fill, i + (i % 100 == 0 ? 3000 : 500)});
      std::erase_if(inside, [&](const Waiting& one) {
        if (one.until > i) return false;
        EXPECT_TRUE(is_filled(one.frame, one.fill));
        rte_pktmbuf_free(one.frame);
        return true;
      });
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(arena->frames(), inside.size());
    for (const Waiting& one : inside) rte_pktmbuf_free(one.frame);
    EXPECT_EQ(arena->frames(), 0U);
  }
}

TEST_F(PortTest, AFullArenaRefusesAndRecovers) {
  auto arena = FrameArena::create("full arena", 1, false);
  ASSERT_TRUE(arena) << arena.error().message;
  rte_mbuf* original = frame(60, 7);
  for (int round = 0; round < 3; ++round) {
    std::vector<rte_mbuf*> all;
    while (rte_mbuf* copy = arena->copy(original)) all.push_back(copy);
    // 2 MiB in steps of 192 B.
    EXPECT_GE(all.size(), 10'900U);
    EXPECT_LE(all.size(), 10'922U);
    EXPECT_EQ(arena->copy(all.front()), nullptr);
    for (rte_mbuf* copy : all) {
      EXPECT_TRUE(is_filled(copy, 7));
      rte_pktmbuf_free(copy);
    }
  }
  rte_pktmbuf_free(original);
}

TEST_F(PortTest, PoolHoldsWhatWasAskedForAndGivesItBack) {
  std::array<rte_mbuf*, 4096> all{};
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool_->get(), all.data(), all.size()), 0);
  EXPECT_EQ(rte_pktmbuf_alloc(pool_->get()), nullptr);
  for (auto* frame : all) {
    EXPECT_GE(rte_pktmbuf_tailroom(frame), kFrameSize);
    std::memset(rte_pktmbuf_append(frame, kFrameSize), 0x5a, kFrameSize);
  }
  rte_pktmbuf_free_bulk(all.data(), all.size());
  EXPECT_EQ(pool_->available(), 4096U);
}

TEST_F(PortTest, PoolTooLargeSaysHowMuch) {
  const auto pool = Pool::create("huge", {.buffers = 2'000'000'000, .frame_size = kFrameSize});
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().exit, ExitCode::environment);
  EXPECT_THAT(pool.error().message, HasSubstr("2000000000 buffers"));
}

TEST_F(PortTest, NullReceivesNothingAndSwallows) {
  Port port = open("null");
  std::array<rte_mbuf*, 32> burst{};
  EXPECT_EQ(port.receive(burst), 0U);
  EXPECT_TRUE(port.exhausted());
  std::array<rte_mbuf*, 1> one{frame(60, 1)};
  EXPECT_EQ(port.send(one), 1U);
}

TEST_F(PortTest, PcapCarriesEveryFrameThroughAFileJumboToo) {
  const std::array<std::size_t, 4> sizes = {14, 60, 4200, kFrameSize};
  {
    Port port = open("pcap:," + path("out.pcap"));
    for (const std::size_t size : sizes) {
      std::array<rte_mbuf*, 1> one{frame(size, static_cast<std::uint8_t>(size))};
      ASSERT_EQ(port.send(one), 1U);
    }
    EXPECT_EQ(port.stats().sent, sizes.size());
  }
  Port port = open("pcap:" + path("out.pcap"));
  EXPECT_FALSE(port.exhausted());
  std::array<rte_mbuf*, 32> burst{};
  ASSERT_EQ(port.receive(burst), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(size_of(burst[i]), sizes[i]);
    EXPECT_EQ(burst[i]->nb_segs, 1);
    const auto* bytes = rte_pktmbuf_mtod(burst[i], const std::uint8_t*);
    EXPECT_EQ(bytes[sizes[i] - 1], static_cast<std::uint8_t>(sizes[i]));
  }
  rte_pktmbuf_free_bulk(burst.data(), sizes.size());
  EXPECT_FALSE(port.exhausted());
  EXPECT_EQ(port.receive(burst), 0U);
  EXPECT_TRUE(port.exhausted());
}

TEST_F(PortTest, MemifJoinsServerAndClientAndCarriesJumbo) {
  Port server = open("memif:" + path("sock") + ",server");
  EXPECT_FALSE(server.link_up());
  Port client = open("memif:" + path("sock"));
  const std::atomic<bool> cancelled{false};
  ASSERT_TRUE(client.wait_link(std::chrono::seconds(20), cancelled));
  ASSERT_TRUE(server.wait_link(std::chrono::seconds(20), cancelled));
  std::array<rte_mbuf*, 2> out{frame(60, 7), frame(kFrameSize, 9)};
  ASSERT_EQ(client.send(out), 2U);
  std::array<rte_mbuf*, 32> in{};
  ASSERT_EQ(server.receive(in), 2U);
  EXPECT_EQ(size_of(in[0]), 60U);
  EXPECT_EQ(size_of(in[1]), kFrameSize);
  EXPECT_EQ(in[1]->nb_segs, 1);
  EXPECT_FALSE(server.exhausted());
  rte_pktmbuf_free_bulk(in.data(), 2);
}

/// A listening socket of another process, which may have been killed.
int serve(const std::string& path, int type = SOCK_SEQPACKET) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int server = socket(AF_UNIX, type, 0);
  EXPECT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(server, 1), 0);
  return server;
}

TEST_F(PortTest, MemifServerReplacesTheSocketOfAKilledOne) {
  close(serve(path("stale")));
  ASSERT_TRUE(std::filesystem::is_socket(path("stale")));
  const Port port = open("memif:" + path("stale") + ",server");
}

TEST_F(PortTest, MemifServerLeavesWhatOthersUse) {
  const int server = serve(path("served"));
  const auto served = open_error("memif:" + path("served") + ",server");
  EXPECT_EQ(served.exit, ExitCode::environment);
  EXPECT_THAT(served.message, HasSubstr(fmt::format("(process {}) serves", getpid())));
  EXPECT_TRUE(std::filesystem::is_socket(path("served")));
  close(server);
  std::ofstream(path("file")) << "text";
  EXPECT_THAT(open_error("memif:" + path("file") + ",server").message, HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::is_regular_file(path("file")));
}

TEST_F(PortTest, VhostServesItsSocketAndWaitsForAGuest) {
  close(serve(path("stale"), SOCK_STREAM));
  {
    Port port = open("vhost:" + path("stale"));
    EXPECT_FALSE(port.link_up());
    const std::atomic<bool> cancelled{false};
    const auto waited = port.wait_link(std::chrono::milliseconds(1), cancelled);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().exit, ExitCode::environment);
    EXPECT_THAT(waited.error().message, HasSubstr("QEMU must use the same socket"));
    EXPECT_TRUE(std::filesystem::is_socket(path("stale")));
  }
  EXPECT_FALSE(std::filesystem::exists(path("stale")));
  const int server = serve(path("served"), SOCK_STREAM);
  EXPECT_THAT(open_error("vhost:" + path("served")).message,
              HasSubstr(fmt::format("(process {}) serves", getpid())));
  close(server);
  EXPECT_THAT(open_error("vhost:" + path("none/sock")).message, HasSubstr("no folder"));
}

TEST_F(PortTest, AClientWithoutAServerSaysSo) {
  Port client = open("memif:" + path("nobody"));
  const std::atomic<bool> cancelled{false};
  const auto waited = client.wait_link(std::chrono::milliseconds(1), cancelled);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().exit, ExitCode::environment);
  EXPECT_THAT(waited.error().message, HasSubstr(",server"));
}

TEST_F(PortTest, WhatIsNotThereIsNamed) {
  const auto interface = open_error("noeth77");
  EXPECT_EQ(interface.exit, ExitCode::environment);
  EXPECT_THAT(interface.message, HasSubstr("there are: lo"));
  EXPECT_THAT(open_error("ffff:ff:1f.7").message, HasSubstr("lspci"));
  EXPECT_THAT(open_error("pcap:" + path("none.pcap")).message, HasSubstr("No such file"));
  EXPECT_THAT(open_error("memif:" + path("none/sock")).message, HasSubstr("no folder"));
  EXPECT_EQ(open_error("net_nonsense0").exit, ExitCode::environment);
}

TEST_F(PortTest, WhatIsNoCaptureIsRefusedWithTheReason) {
  std::ofstream(path("junk.pcap")) << "this is not a capture file at all";
  const auto error = open_error("pcap:" + path("junk.pcap"));
  EXPECT_EQ(error.exit, ExitCode::environment);
  EXPECT_THAT(error.message, HasSubstr("junk.pcap"));
}

}  // namespace
}  // namespace lw::nic
