// SPDX-License-Identifier: BSD-3-Clause
// No access leaves a region, no matter who chose its address and length: those of requests, of
// receives and of the owner.
#include "transport/memory.h"

#include <array>

#include <gtest/gtest.h>

#include "transport/queue_pair.h"

namespace lw::test::memory_test {
namespace {

using transport::Memory, transport::PayloadStore, transport::QueuePair;

constexpr std::uint64_t kVa = 0x10000, kSize = 8192, kLast = ~std::uint64_t{0};
constexpr std::uint32_t kKey = 7;

struct Access {
  std::uint64_t va, length;
};
constexpr Access kOutside[] = {{kVa - 1, 1},
                               {kVa + kSize, 1},
                               {kVa + kSize - 1, 2},
                               {kVa, kSize + 1},
                               {kVa, kLast},
                               {kVa + 1, kLast},
                               {kLast, 1},
                               {kLast, 2},
                               {kLast - kVa, kVa + 2},
                               {0, kLast},
                               {kVa + kSize, kLast - kSize}};

TEST(AddressRange, holds_what_is_inside_without_wrap_around) {
  const AddressRange range(kVa, kSize);
  for (const auto& [va, length] : kOutside) EXPECT_FALSE(range.holds(va, length)) << va;
  EXPECT_TRUE(range.holds(kVa, kSize));
  EXPECT_TRUE(range.holds(kVa + kSize - 1, 1));
  EXPECT_TRUE(range.holds(0, 0));
  const AddressRange end(kLast - 9, 20);  // its size passes the end of all addresses
  EXPECT_TRUE(end.holds(kLast, 1));
  EXPECT_FALSE(end.holds(0, 1));
}

TEST(Memory, gives_no_byte_outside) {
  Memory memory(Memory::Kind::real, kVa, kSize, kKey);
  PayloadStore store;
  for (const auto& [va, length] : kOutside) EXPECT_TRUE(memory.bytes(va, length).empty()) << va;
  EXPECT_EQ(memory.bytes(kVa, kSize).size(), kSize);
  memory.store(kVa + kSize - 4, std::uint64_t{1});
  EXPECT_EQ(memory.load(kVa + kSize - 4), 0u);
  const auto slot = store.allocate();
  std::ranges::fill(store.bytes(slot, 8), std::byte{0xaa});
  for (const std::uint64_t va : {kVa + kSize, kVa - 8, kLast - 3, std::uint64_t{0}})
    memory.store(va, slot, 8, store);
  const auto copy = memory.snapshot(kVa + kSize - 4, 8, store);
  EXPECT_EQ(store.bytes(copy, 8)[0], std::byte{0});
}

/// Bytes that are their addresses, and the last one that was written.
class Addresses final : public transport::MemoryContent {
 public:
  void read(std::uint64_t va, std::span<std::byte> out) noexcept override {
    for (std::byte& each : out) each = static_cast<std::byte>(va++);
  }
  void write(std::uint64_t va, std::span<const std::byte> bytes) override {
    last = va + bytes.size() - 1;
  }
  std::uint64_t last = 0;
};

TEST(Memory, asks_its_content_for_what_is_inside_only) {
  Addresses content;
  Memory memory(content, kVa, kSize, kKey);
  PayloadStore store;
  const auto slot = store.allocate();
  for (const auto& [va, length] : kOutside)
    if (length <= PayloadStore::kLargest)
      memory.store(va, slot, static_cast<std::uint32_t>(length), store);
  EXPECT_EQ(content.last, 0u);
  memory.store(kVa + 8, slot, 8, store);
  EXPECT_EQ(content.last, kVa + 15);
  std::array<std::byte, 2> bytes{std::byte{1}, std::byte{1}};
  memory.read(kVa + kSize - 1, bytes);
  EXPECT_EQ(bytes, (std::array<std::byte, 2>{}));
  memory.read(kVa + 5, bytes);
  EXPECT_EQ(bytes, (std::array{std::byte{5}, std::byte{6}}));
  EXPECT_TRUE(memory.bytes(kVa, 1).empty());
  EXPECT_EQ(memory.load(kVa), 0u);
}

TEST(PayloadStore, lends_what_is_elsewhere_and_copies_what_is_kept) {
  Addresses content;
  Memory memory(content, kVa, kSize, kKey);
  PayloadStore store(PayloadStore::Sending::lends);
  const auto sent = memory.snapshot(kVa + 5, 2, store);
  EXPECT_EQ(sent, PayloadStore::kLent);
  std::array<std::byte, 2> bytes{};
  store.view(sent, 2).write_to(bytes);
  EXPECT_EQ(bytes, (std::array{std::byte{5}, std::byte{6}}));
  const std::array arrived{std::byte{8}, std::byte{9}};
  const auto lent = store.lend(wire::Bytes(arrived));
  const auto kept = store.keep(lent, 2);
  store.release(lent);
  (void)store.lend(wire::Bytes(bytes));
  EXPECT_TRUE(std::ranges::equal(store.content(kept, 2), arrived));
  EXPECT_EQ(store.keep(kept, 2), kept);
  store.release(kept);
  EXPECT_EQ(store.in_use(), 1u);
  store.release(kept);
  EXPECT_EQ(store.in_use(), 0u);
}

transport::QpConfig config() {
  transport::QpConfig qp;
  qp.mtu = 1024;
  return qp;
}

TEST(Memory, is_checked_where_a_request_or_a_receive_is_posted) {
  Memory memory(Memory::Kind::real, kVa, kSize, kKey);
  PayloadStore store;
  QueuePair pair(config(), memory, store);
  for (const auto& [va, length] : kOutside) {
    if (length > 0xffffffff) continue;
    const auto bytes = static_cast<std::uint32_t>(length);
    EXPECT_FALSE(pair.post({.id = 1, .va = va, .length = bytes}));
    for (const auto operation : {wire::Operation::send, wire::Operation::read_request})
      EXPECT_FALSE(pair.post({.operation = operation, .length = bytes, .local_va = va}, Instant{}));
  }
  // An atomic has eight bytes, whatever its length says.
  EXPECT_FALSE(pair.post(
      {.operation = wire::Operation::fetch_add, .length = 1, .local_va = kVa + kSize - 4}, {}));
  EXPECT_TRUE(pair.post({.operation = wire::Operation::write, .length = 0}, Instant{}));
  EXPECT_TRUE(pair.post({.id = 1, .va = kVa, .length = kSize}));
  EXPECT_EQ(pair.sink().receives(), 1u);
}

/// Requests beyond the responses that may wait are dropped as if they were lost.
TEST(Memory, is_not_filled_by_responses_that_wait) {
  Memory memory(Memory::Kind::real, kVa, kSize, kKey);
  PayloadStore store;
  QueuePair pair(config(), memory, store);
  transport::Packet read;
  read.opcode = 0x0c;
  read.va = kVa;
  read.r_key = kKey;
  read.length = kSize;
  for (int i = 0; i < 5000; ++i) pair.receive(read, Instant{});
  std::size_t packets = 0;
  for (transport::Packet answer; pair.wants_to_send(); ++packets) {
    ASSERT_TRUE(pair.next(Instant{}, answer));
    store.release(answer.data);
  }
  EXPECT_EQ(packets, transport::ResponseQueue::kMost * (kSize / 1024));
  EXPECT_EQ(store.in_use(), 0u);
}

}  // namespace
}  // namespace lw::test::memory_test
