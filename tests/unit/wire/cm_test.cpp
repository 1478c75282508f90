// SPDX-License-Identifier: BSD-3-Clause
// Values are tshark's of pcaps/rxe/cm_rping.pcap, frames 1 and 2:
//   tshark -r cm_rping.pcap -T fields -e infiniband.mad.attributeid -e infiniband.cm.req.localqpn
//     -e infiniband.cm.req.startpsn -e infiniband.cm.rep.localqpn -e infiniband.cm.rep.startpsn
#include "wire/cm.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "wire/mad.h"
#include "wire/view.h"

namespace lw::wire {
namespace {

/// The 256 bytes of the n-th (from 0) frame's MAD: a pcap of same-sized frames needs no parser.
std::vector<std::byte> mad_of_frame(int n) {
  std::ifstream file(std::string(std::getenv("LONGWIRE_SOURCE")) + "/pcaps/rxe/cm_rping.pcap",
                     std::ios::binary);
  constexpr int kFileHeader = 24, kRecordHeader = 16, kHeaders = 14 + 20 + 8 + 12 + 8;
  constexpr int kFrame = kHeaders + kMadSize + 4;
  file.seekg(kFileHeader + n * (kRecordHeader + kFrame) + kRecordHeader + kHeaders);
  std::vector<std::byte> mad(kMadSize);
  file.read(reinterpret_cast<char*>(mad.data()), static_cast<std::streamsize>(mad.size()));
  return file ? mad : std::vector<std::byte>{};
}

TEST(ConnectionManagement, ReadsTheRequestOfRping) {
  const auto bytes = mad_of_frame(0);
  const auto* mad = view<Mad>(Bytes{bytes});
  ASSERT_NE(mad, nullptr);
  EXPECT_EQ(mad->fields().attribute_id, 0x10);
  EXPECT_EQ(mad->fields().management_class, kMadClassCommunication);
  EXPECT_EQ(mad->fields().transaction_id, 0x00000002911747d3u);
  const auto* req = view_at<CmReq>(Bytes{bytes}, sizeof(Mad));
  ASSERT_NE(req, nullptr);
  EXPECT_EQ(req->local_qpn.get(), 0x1au);
  EXPECT_EQ(req->first_psn(), Psn{0x609cff});
  EXPECT_EQ(req->service_id.get(), 0x1061c06u);
}

TEST(ConnectionManagement, ReadsTheReplyOfRping) {
  const auto bytes = mad_of_frame(1);
  const auto* mad = view<Mad>(Bytes{bytes});
  ASSERT_NE(mad, nullptr);
  EXPECT_EQ(name_of(static_cast<CmMessage>(mad->attribute_id.get())), "ConnectReply");
  const auto* rep = view_at<CmRep>(Bytes{bytes}, sizeof(Mad));
  ASSERT_NE(rep, nullptr);
  EXPECT_EQ(rep->local_qpn.get(), 0x1au);
  EXPECT_EQ(rep->first_psn(), Psn{0x9c8212});
}

TEST(ConnectionManagement, ReasonsHaveTheNamesOfTheSpecification) {
  EXPECT_EQ(reject_reason_name(1), "No QP Available");
  EXPECT_EQ(reject_reason_name(8), "Invalid Service ID");
  EXPECT_EQ(reject_reason_name(10), "Stale Connection");
  EXPECT_EQ(reject_reason_name(28), "Consumer Reject");
  for (std::uint16_t reason = 1; reason <= 33; ++reason)
    EXPECT_FALSE(reject_reason_name(reason).empty()) << reason;
  EXPECT_TRUE(reject_reason_name(0).empty());
  EXPECT_TRUE(reject_reason_name(0xffff).empty());
  EXPECT_EQ(sidr_status_name(1), "Service ID Not Supported");
  EXPECT_TRUE(sidr_status_name(0xff).empty());
}

TEST(ConnectionManagement, MadHeaderIsWrittenAsItIsRead) {
  const auto bytes = mad_of_frame(0);
  Mad written{};
  written.set(view<Mad>(Bytes{bytes})->fields());
  EXPECT_EQ(std::memcmp(&written, bytes.data(), sizeof(Mad)), 0);
}

}  // namespace
}  // namespace lw::wire
