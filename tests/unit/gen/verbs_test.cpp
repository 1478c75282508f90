// SPDX-License-Identifier: BSD-3-Clause
// roce-endpoint as far as it needs no RDMA device: regions, slots, counters, and what it says where
// there is no device.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "gen/endpoint/arrivals/record_ring.h"
#include "gen/endpoint/arrivals/signed_messages.h"
#include "gen/endpoint/device.h"
#include "gen/endpoint/idle_watch.h"
#include "gen/endpoint/region.h"
#include "report/figures/json.h"
#include "wire/icrc.h"

namespace lw::test::verbs_test {
namespace {

using namespace gen::endpoint;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class RdmaFolder : public testing::Test {
 protected:
  RdmaFolder() {
    std::string name = (fs::temp_directory_path() / "longwire-rdma-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RdmaFolder() override { fs::remove_all(folder_); }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  fs::path folder_;
};

TEST_F(RdmaFolder, without_a_device_says_what_was_searched_and_how_to_make_one) {
  const Error none = no_device("", folder_ / "infiniband");
  EXPECT_EQ(none.exit, ExitCode::environment);
  EXPECT_THAT(none.message, HasSubstr("infiniband were searched, which does not exist"));
  EXPECT_THAT(none.message, HasSubstr("rdma link add rxe0 type rxe netdev eth0"));
  EXPECT_THAT(no_device("", folder_).message, HasSubstr("which is empty"));
  write("rxe0/x", "");
  write("mlx5_0/x", "");
  const Error other = no_device("rxe7", folder_);
  EXPECT_THAT(other.message, HasSubstr("no RDMA device \"rxe7\""));
  EXPECT_THAT(other.message, HasSubstr("which has mlx5_0, rxe0"));
  const Error several = no_device("", folder_);
  EXPECT_EQ(several.exit, ExitCode::usage);
  EXPECT_THAT(several.message, HasSubstr("pass one with --device: mlx5_0, rxe0"));
}

TEST_F(RdmaFolder, counters_are_the_numbers_of_both_folders) {
  write("ports/1/hw_counters/rcvd_pkts", "12\n");
  write("ports/1/hw_counters/lifespan", "none\n");
  write("ports/1/counters/port_xmit_data", "18446744073709551615\n");
  const Counters counters = read_counters(folder_);
  EXPECT_THAT(counters,
              ElementsAre(Pair("port_xmit_data", ~std::uint64_t{0}), Pair("rcvd_pkts", 12)));
  EXPECT_THAT(read_counters(folder_ / "none"), testing::IsEmpty());
}

TEST_F(RdmaFolder, an_interface_is_named) {
  write("ports/1/gid_attrs/ndevs/0", "eth7\n");
  EXPECT_EQ(interface_of(folder_), "eth7");
  EXPECT_EQ(interface_of(folder_ / "none"), "");
}

TEST(RdmaCounters, that_rose_are_left) {
  EXPECT_THAT(risen({{"a", 1}, {"b", 5}, {"c", 9}}, {{"a", 4}, {"b", 5}, {"c", 2}, {"d", 3}}),
              ElementsAre(Pair("a", 3)));
}

TEST(RdmaRegion, is_a_size_a_file_or_huge_pages) {
  EXPECT_EQ(parse_region("64KiB").value().size, 65536u);
  const RegionSpec file = parse_region("1MiB,file=/tmp/x").value();
  EXPECT_EQ(file.file, "/tmp/x");
  EXPECT_FALSE(file.huge_pages);
  EXPECT_TRUE(parse_region("1GiB,hugepages").value().huge_pages);
  for (const char* wrong : {"", "0", "file=x", "1MiB,", "1MiB,file=", "1MiB,disk=x", "1MiB,,file=x",
                            "1MiB,file=x,hugepages"})
    EXPECT_FALSE(parse_region(wrong)) << wrong;
  EXPECT_THAT(parse_region("1MiB,disk=x").error(), HasSubstr("found \"1MiB,disk=x\""));
}

TEST_F(RdmaFolder, a_file_has_what_is_written_to_its_region) {
  const fs::path file = folder_ / "region";
  write("region", "abc");
  {
    const auto region = Region::map({.size = 8192, .file = file.string()});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ(region->bytes(0, 3)[2], std::byte{'c'});
    std::memcpy(region->bytes(8190, 2).data(), "yz", 2);
    EXPECT_TRUE(region->flush());
  }
  EXPECT_EQ(fs::file_size(file), 8192u);
  std::ifstream read(file);
  const std::string text{std::istreambuf_iterator<char>(read), {}};
  EXPECT_EQ(text.substr(0, 3), "abc");
  EXPECT_EQ(text.substr(8190), "yz");
}

TEST_F(RdmaFolder, a_region_that_cant_be_mapped_says_why) {
  const auto none = Region::map({.size = 8192, .file = (folder_ / "no" / "region").string()});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().exit, ExitCode::environment);
  EXPECT_THAT(none.error().message, HasSubstr("No such file or directory"));
  const auto huge = Region::map({.size = std::uint64_t{1} << 46, .file = "", .huge_pages = true});
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message, HasSubstr("> /proc/sys/vm/nr_hugepages"));
}

TEST(RdmaSlots, follow_each_other_without_gaps) {
  const gen::SessionParams params{.size = 100, .slots = 4};
  const SlotLayout layout(params, 3);
  EXPECT_EQ(layout.size(), 1200u);
  EXPECT_EQ(layout.at(0, 0), 0u);
  EXPECT_EQ(layout.at(0, 5), 100u);
  EXPECT_EQ(layout.at(2, 3), 1100u);
}

TEST(RdmaSlots, of_datagrams_have_space_for_a_grh) {
  const gen::SessionParams params{.transport = wire::Transport::ud, .size = 100, .slots = 4};
  const SlotLayout layout(params, 2);
  EXPECT_EQ(layout.size(), 1120u);
  EXPECT_EQ(layout.at(1, 0), 600u);
}

TEST(RdmaSlots, that_no_memory_holds_have_no_size) {
  const gen::SessionParams params{.size = 1u << 31, .slots = 0xffffffff};
  EXPECT_FALSE(SlotLayout(params, 512).size());
}

// The first records of the published file of a switch that writes telemetry by RDMA.
constexpr const char* kPublished[] = {
    "fc000000000000005555666677778888fc00000000000000111122223333444400de006f0000121200003434000000"
    "00",
    "fc000000000000001111222233334444fc000000000000005555666677778888006f00de0000343500001213000000"
    "01",
    "fc000000000000005555666677778888fc00000000000000111122223333444400de006f0000121400003436000000"
    "02"};

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

RecordReader reader_of(std::string_view layout) {
  return RecordReader(config::parse_record_layout(layout, "x.toml").value());
}

RecordReader shipped(const std::string& name) {
  return RecordReader(config::load_record_layout(std::string(std::getenv("LONGWIRE_SOURCE")) +
                                                 "/profiles/telemetry/" + name + ".toml")
                          .value());
}

TEST(RecordReader, shows_the_published_records) {
  const RecordReader reader = shipped("flow48");
  EXPECT_EQ(reader.size(), 48u);
  EXPECT_EQ(reader.csv_header(),
            "source,destination,source_port,destination_port,sequence,acknowledgement,counter\n");
  std::string lines;
  for (const char* each : kPublished) lines += reader.csv_line(bytes_of(each));
  EXPECT_EQ(lines,
            "fc00::5555:6666:7777:8888,fc00::1111:2222:3333:4444,00de,006f,00001212,00003434,"
            "00000000\n"
            "fc00::1111:2222:3333:4444,fc00::5555:6666:7777:8888,006f,00de,00003435,00001213,"
            "00000001\n"
            "fc00::5555:6666:7777:8888,fc00::1111:2222:3333:4444,00de,006f,00001214,00003436,"
            "00000002\n");
  EXPECT_EQ(reader.json_line(bytes_of(kPublished[1])),
            "{\"source\":\"fc00::1111:2222:3333:4444\",\"destination\":"
            "\"fc00::5555:6666:7777:8888\",\"source_port\":\"006f\",\"destination_port\":\"00de\","
            "\"sequence\":\"00003435\",\"acknowledgement\":\"00001213\",\"counter\":1}\n");
}

TEST(RecordReader, shows_a_roce_packets_record) {
  EXPECT_EQ(shipped("roce32").csv_line(
                bytes_of("c6120001c6120002c13204180040ffff00000012000000000000000000000007")),
            "198.18.0.1,198.18.0.2,c132,0418,0040ffff0000001200000000,0000000000000007\n");
}

/// A layout of one field before a counter of a byte.
std::string with_field(const std::string& before, const std::string& header, int offset,
                       int bytes) {
  return fmt::format(
      "{}[[field]]\nname = \"a,b\"\nheader = \"{}\"\noffset = {}\nbytes = {}\n"
      "[[field]]\nname = \"n\"\nheader = \"counter\"\nbytes = 1\n",
      before, header, offset, bytes);
}

TEST(RecordReader, shows_addresses_of_headers_that_are_known) {
  const auto address = bytes_of("c61200010a");
  EXPECT_EQ(reader_of(with_field("ip = 4\n", "ip", 12, 4)).csv_line(address), "198.18.0.1,0a\n");
  EXPECT_EQ(reader_of(with_field("ip = 4\n", "ip", 16, 4)).csv_line(address), "198.18.0.1,0a\n");
  for (const std::string& other :
       {with_field("ip = 4\n", "ip", 13, 4), with_field("ip = 6\n", "ip", 12, 4),
        with_field("", "ip", 12, 4), with_field("ip = 4\n", "transport", 12, 4)})
    EXPECT_EQ(reader_of(other).csv_line(address), "c6120001,0a\n") << other;
  EXPECT_EQ(reader_of(with_field("", "ethernet", 6, 6)).json_line(bytes_of("0200000000ff0a")),
            "{\"a,b\":\"02:00:00:00:00:ff\",\"n\":10}\n");
  EXPECT_EQ(reader_of(with_field("", "ethernet", 6, 6)).csv_header(), "\"a,b\",n\n");
}

TEST(RecordReader, numbers_records) {
  const RecordReader reader = reader_of(
      "[[field]]\nname = \"n\"\nheader = \"counter\"\nbytes = 3\n"
      "[[field]]\nname = \"x\"\nheader = \"ip\"\noffset = 0\nbytes = 1\n");
  std::vector<std::byte> record(4, std::byte{0x55});
  reader.set_counter(record, 0x12345678);
  EXPECT_EQ(record, bytes_of("34567855"));
  EXPECT_EQ(reader.counter_of(record), 0x345678u);
  EXPECT_EQ(reader.counter_mask(), 0xffffffu);
}

/// A ring of eight records of a counter and as many bytes again, and its reader.
class RecordRingTest : public testing::Test {
 protected:
  void write(std::uint64_t number) {
    const auto at = number % 8 * 4;
    for (std::size_t i = 0; i < 2; ++i) {
      memory_[at + i] = static_cast<std::byte>(~number >> 8 * (1 - i));
      memory_[at + 2 + i] = static_cast<std::byte>(number >> 8 * (1 - i));
    }
  }
  void write(std::uint64_t from, std::uint64_t to) {
    for (; from < to; ++from) write(from);
  }
  /// Numbers of the records that a poll takes.
  std::vector<std::uint64_t> poll() {
    std::vector<std::uint64_t> taken;
    ring_.poll([&](std::span<const std::byte> record) {
      taken.push_back(reader_.counter_of(record));
      EXPECT_EQ(std::to_integer<unsigned>(record[1]),
                ~taken.back() & 0xff);  // not that of another record
    });
    return taken;
  }
  RecordReader reader_ = reader_of(
      "[[field]]\nname = \"other\"\nheader = \"ip\"\noffset = 0\nbytes = 2\n"
      "[[field]]\nname = \"number\"\nheader = \"counter\"\nbytes = 2\n");
  std::vector<std::byte> memory_ = std::vector<std::byte>(32);
  RecordRing ring_{reader_, memory_};
};

TEST_F(RecordRingTest, gives_each_record_once_in_order) {
  EXPECT_THAT(poll(), testing::IsEmpty());
  write(0, 3);
  EXPECT_THAT(poll(), ElementsAre(0, 1, 2));
  EXPECT_THAT(poll(), testing::IsEmpty());
  write(3, 11);
  EXPECT_THAT(poll(), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(ring_.counts().records, 11u);
  EXPECT_EQ(ring_.counts().lapped + ring_.counts().lost + ring_.counts().laps, 0u);
}

TEST_F(RecordRingTest, goes_on_where_its_counter_begins_anew) {
  for (std::uint64_t n = 0; n < 65536 * 2 + 5; n += 5) {
    write(n, n + 5);
    ASSERT_EQ(poll().size(), 5u) << n;
  }
  EXPECT_EQ(ring_.counts().lost, 0u);
}

TEST_F(RecordRingTest, counts_what_was_overwritten) {
  write(0, 2);
  EXPECT_THAT(poll(), ElementsAre(0, 1));
  write(2, 25);  // the slot of 2 has 18
  EXPECT_THAT(poll(), ElementsAre(18, 19, 20, 21, 22, 23, 24));
  EXPECT_EQ(ring_.counts().laps, 1u);
  EXPECT_EQ(ring_.counts().lapped, 16u);
  EXPECT_EQ(ring_.counts().records + ring_.counts().lapped, 25u);
}

TEST_F(RecordRingTest, counts_what_never_came) {
  write(0, 2);
  write(4);
  EXPECT_THAT(poll(), ElementsAre(0, 1, 4));
  EXPECT_EQ(ring_.counts().lost, 2u);
  ring_.finish(7, [](std::span<const std::byte> /*record*/) { FAIL(); });
  EXPECT_EQ(ring_.counts().lost, 4u);
}

TEST_F(RecordRingTest, ends_whatever_number_of_records_the_peer_claims) {
  write(0, 5);
  std::uint64_t taken = 0;
  ring_.finish(~std::uint64_t{0}, [&](std::span<const std::byte> /*record*/) { ++taken; });
  EXPECT_EQ(taken, 5u);
  EXPECT_EQ(ring_.counts().lost, ~std::uint64_t{0} - 5);
}

TEST_F(RecordRingTest, ends_though_the_peer_goes_on_writing) {
  std::uint64_t taken = 0;
  write(0, 8);
  ring_.finish(1u << 30, [&](std::span<const std::byte> /*record*/) { write(8 + taken++); });
  EXPECT_GE(taken, 8u);
  EXPECT_LE(taken, 64u);
}

/// Counters that a writer may leave by chance or on purpose: each slot's is ahead of another one's.
TEST_F(RecordRingTest, ends_whatever_the_counters_say) {
  for (std::uint64_t seed = 1; seed < 2000; ++seed) {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      memory_[i] = static_cast<std::byte>(seed * (i + 1) * 0x9e3779b97f4a7c15 >> 40);
    EXPECT_LE(ring_.poll([](std::span<const std::byte> /*record*/) {}), 8u);
  }
}

TEST(RdmaRegion, has_no_bytes_outside) {
  auto region = Region::map({.size = 4096, .file = "", .huge_pages = false});
  ASSERT_TRUE(region);
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{4096, 1},
                                     {4095, 2},
                                     {0, 4097},
                                     {~std::uint64_t{0}, 2},
                                     {1, ~std::uint64_t{0}}})
    EXPECT_TRUE(region->bytes(offset, size).empty()) << offset;
  const auto all = region->bytes(0, 4096);
  std::ranges::fill(all, std::byte{7});
  region->clear(4000);
  EXPECT_EQ(all[3999], std::byte{0});
  EXPECT_EQ(all[4000], std::byte{7});
}

constexpr Duration kLimit = std::chrono::seconds(10);

Instant after(int seconds) { return Instant{} + std::chrono::seconds(seconds); }

TEST(IdleWatch, takes_messages_and_counters_as_signs) {
  Counters counters{{"rcvd_pkts", 1}};
  IdleWatch watch(kLimit, false, [&] { return counters; }, after(0));
  EXPECT_FALSE(watch.expired(after(9)));
  ++counters["rcvd_pkts"];
  EXPECT_FALSE(watch.expired(after(11)));
  watch.note_sign(after(15));
  EXPECT_FALSE(watch.expired(after(25)));
  EXPECT_TRUE(watch.expired(after(26)));
}

TEST(IdleWatch, ends_nothing_without_a_limit_or_without_a_source_of_signs) {
  const auto none = [] { return Counters{}; };
  EXPECT_FALSE(IdleWatch(Duration{}, true, none, after(0)).expired(after(1000)));
  EXPECT_FALSE(IdleWatch(kLimit, false, none, after(0)).expired(after(1000)));
  EXPECT_TRUE(IdleWatch(kLimit, true, none, after(0)).expired(after(1000)));
}

/// Messages of 2500 bytes, three packets with a signature each, of two QPs.
class SignedMessagesTest : public testing::Test {
 protected:
  static constexpr std::size_t kMtu = 1024;
  using Message = std::vector<std::byte>;

  static Message message(std::uint64_t number, std::uint32_t flow = 0,
                         std::uint8_t clock = wire::ClockId::kUnknown, std::int64_t sent = 0) {
    Message bytes(2500);
    for (std::uint64_t i = 0; i < 3; ++i)
      wire::view_at<wire::Signature>(wire::MutableBytes(bytes), i * kMtu)
          ->set({.flow = flow,
                 .sequence = 3 * number + i,
                 .send_time_ns = static_cast<std::uint64_t>(sent),
                 .run = 7,
                 .clock = clock});
    return bytes;
  }
  nlohmann::ordered_json finish(std::vector<std::uint64_t> sent) {
    const gen::handover::Done done{.messages = {}, .signed_frames = std::move(sent)};
    messages_.finish(&done);
    return report::json_of(messages_);
  }
  gen::handover::Hello hello_{.token = "",
                              .params = {.operation = wire::Operation::send, .size = 2500},
                              .mtu = kMtu,
                              .gid = {},
                              .qps = {{.qpn = 1}, {.qpn = 2}}};
  SignedMessages messages_{hello_, wire::Ipv6Address{}};
};

TEST_F(SignedMessagesTest, are_counted_for_each_flow) {
  for (std::uint64_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(messages_.count_message(0, message(n)));
    EXPECT_TRUE(messages_.count_message(1, message(n, 1)));
  }
  const auto json = finish({12, 12});
  EXPECT_EQ(messages_.counts(), (gen::handover::SignatureCounts{.frames = 24}));
  ASSERT_EQ(json["flows"].size(), 2u);
  EXPECT_EQ(json["flows"][1]["name"], "flow 1");
  EXPECT_EQ(json["flows"][1]["frames"], 12);
  EXPECT_EQ(json["flows"][1]["bytes"], 10'000);
  EXPECT_FALSE(json["flows"][1].contains("bad_icrc"));
  EXPECT_EQ(json["lost"], 0);
}

TEST_F(SignedMessagesTest, show_what_is_missing_between_them_and_after_them) {
  for (const std::uint64_t n : {0, 1, 4, 3, 4}) messages_.count_message(0, message(n));
  messages_.count_message(0, Message(100));
  const auto json = finish({21, 6});  // messages 2, 5 and 6 of the first QP, both of the second
  EXPECT_EQ(messages_.counts(), (gen::handover::SignatureCounts{.frames = 15,
                                                                .unsigned_frames = 1,
                                                                .lost = 3 + 6 + 6,
                                                                .duplicated = 3,
                                                                .out_of_order = 3}));
  EXPECT_EQ(json["flows"][0]["lost"], 3);
  EXPECT_EQ(json["flows"][0]["missing_at_end"], 6);
  EXPECT_THAT(messages_.text(),
              HasSubstr("15 lost, 3 duplicated, 3 out of order; 1 frame without"));
  EXPECT_THAT(messages_.text(), HasSubstr("flow 0: the last 6 of 21 frames never came"));
  EXPECT_THAT(messages_.text(), HasSubstr("flow 1: none of 6 frames came"));
}

TEST_F(SignedMessagesTest, are_complete_with_every_number) {
  const gen::handover::Done done{.messages = {}, .signed_frames = {9, 3}};
  for (const std::uint64_t n : {0, 1, 1}) messages_.count_message(0, message(n));
  messages_.count_message(1, message(0, 1));
  EXPECT_FALSE(messages_.complete(done));
  messages_.count_message(0, message(2));
  EXPECT_TRUE(messages_.complete(done));
}

TEST_F(SignedMessagesTest, have_the_content_that_the_client_said) {
  const Message zeros(kMtu);
  for (const std::size_t length : {kMtu, 2500 - 2 * kMtu})
    hello_.payload_crcs.push_back(
        wire::crc32(0, wire::Bytes(zeros).first(length).subspan(sizeof(wire::Signature))));
  SignedMessages messages(hello_, wire::Ipv6Address{});
  EXPECT_TRUE(messages.count_message(0, message(0)));
  for (const std::size_t at : {std::size_t{24}, kMtu - 1, kMtu + 500, std::size_t{2499}}) {
    Message wrong = message(1);
    wrong[at] = std::byte{1};
    EXPECT_FALSE(messages.count_message(0, wrong)) << at;
    EXPECT_TRUE(messages_.count_message(0, wrong)) << at;  // of unknown content
  }
}

TEST_F(SignedMessagesTest, on_another_qp_are_wrong) {
  EXPECT_TRUE(messages_.count_message(1, message(0, 1)));
  EXPECT_FALSE(messages_.count_message(0, message(1, 1)));
  finish({0, 3});
  EXPECT_EQ(messages_.counts(), (gen::handover::SignatureCounts{.frames = 3}));
}

TEST_F(SignedMessagesTest, are_in_a_slot_when_their_last_packet_is) {
  Message slot = message(5);
  EXPECT_TRUE(messages_.holds(slot, 5));
  EXPECT_FALSE(messages_.holds(slot, 4));
  slot[2 * kMtu] = std::byte{0};  // of the last signature
  EXPECT_FALSE(messages_.holds(slot, 5));
}

std::int64_t now_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST_F(SignedMessagesTest, have_a_latency_by_a_clock_that_this_machine_has) {
  const std::uint8_t own = steady_clock_number(wire::ClockId::kSteady, boot_id());
  for (const auto& [clock, number] :
       {std::pair{CLOCK_MONOTONIC, own}, {CLOCK_TAI, wire::ClockId::kTai}}) {
    SignedMessages messages(hello_, wire::Ipv6Address{});
    messages.count_message(0, message(0, 0, number, now_of(clock) - 5'000'000));
    messages.finish(nullptr);
    const auto flow = report::json_of(messages)["flows"][0];
    ASSERT_TRUE(flow.contains("latency_ns")) << flow;
    EXPECT_GE(flow["latency_ns"]["min"], 5'000'000);
    EXPECT_LT(flow["latency_ns"]["min"], 3'000'000'000);
    EXPECT_FALSE(flow.contains("no_latency"));
  }
}

TEST_F(SignedMessagesTest, have_no_latency_by_other_clocks) {
  const std::uint8_t own = steady_clock_number(wire::ClockId::kSteady, boot_id());
  const auto other = static_cast<std::uint8_t>(own == 255 ? 254 : own + 1);
  messages_.count_message(0, message(0, 0, other, now_of(CLOCK_MONOTONIC) - 5'000'000));
  const auto flow = finish({3, 0})["flows"][0];
  EXPECT_FALSE(flow.contains("latency_ns"));
  EXPECT_THAT(flow["no_latency"].get<std::string>(),
              HasSubstr(fmt::format("stamped by the steady clock of machine {}, and this side has "
                                    "the steady clock of machine {} and CLOCK_TAI: give",
                                    other, own)));
  EXPECT_THAT(messages_.text(), HasSubstr("no latency of flow 0: its frames are stamped by"));
}

TEST_F(SignedMessagesTest, have_no_latency_that_is_negative) {
  const std::uint8_t own = steady_clock_number(wire::ClockId::kSteady, boot_id());
  messages_.count_message(0, message(0, 0, own, now_of(CLOCK_MONOTONIC) + 1'000'000'000'000));
  const auto flow = finish({3, 0})["flows"][0];
  EXPECT_FALSE(flow.contains("latency_ns"));
  EXPECT_THAT(flow["no_latency"].get<std::string>(),
              HasSubstr("the clocks of the two ends differ"));
  EXPECT_THAT(messages_.text(), testing::Not(HasSubstr("jitter")));
}

}  // namespace
}  // namespace lw::test::verbs_test
