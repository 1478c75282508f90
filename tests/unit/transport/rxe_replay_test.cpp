// SPDX-License-Identifier: BSD-3-Clause
// What Linux' soft-RoCE answered to a stream of requests, our responder answers too: each QP's
// requests of a real capture, in order, and the two lists of answers side by side.
#include <map>

#include <gtest/gtest.h>

#include "support/captures.h"
#include "transport/packet.h"
#include "transport/queue_pair.h"
#include "wire/aeth.h"

namespace lw::test {
namespace {

using transport::Packet;

/// What of an answer doesn't hang on the memory behind it.
std::string line_of(const Packet& packet) {
  const auto* info = wire::find_opcode(packet.opcode);
  std::string text(info->name);
  text +=
      " psn " + std::to_string(packet.psn.value()) + ", " + std::to_string(packet.payload) + " B";
  if (info->extensions.has(wire::Extension::aeth)) {
    text += ", syndrome " + std::to_string(packet.syndrome) + ", msn " + std::to_string(packet.msn);
  }
  return text;
}

/// A QP pair of a capture, by who responds: its requests, and the answers that came.
struct Conversation {
  std::vector<Packet> requests;
  std::vector<std::string> answers;
};
using Asker = std::pair<std::string, std::uint32_t>;  // the requester's address, the QP it asks

constexpr std::int32_t kOvertaken = 16;  // PSNs that may be captured behind a later one

/// Conversations by asker. An answer belongs to the QP whose requests hold its PSN.
std::map<Asker, Conversation> conversations_of(const std::string& file) {
  std::map<Asker, Conversation> all;
  for (const CapturedFrame& captured : frames_of(source_root() / "pcaps" / "rxe" / file)) {
    const auto frame = roce::parse(captured.bytes, captured.wire_length);
    if (!frame || frame->defect || frame->info->transport != wire::Transport::rc) continue;
    const Packet packet = transport::read_packet(*frame);
    if (transport::is_request(packet.opcode)) {
      all[{frame->envelope.source(), packet.dest_qp}].requests.push_back(packet);
      continue;
    }
    for (auto& [asker, conversation] : all) {
      const auto& requests = conversation.requests;
      if (asker.first != frame->envelope.destination() || requests.empty()) continue;
      const auto ahead = wire::Psn::distance(requests.front().psn, packet.psn);
      const auto last = wire::Psn::distance(requests.front().psn, requests.back().psn);
      const auto reads = static_cast<std::int32_t>(requests.back().length / 256);
      if (ahead < -kOvertaken || ahead > last + reads) continue;
      conversation.answers.push_back(line_of(packet));
      break;
    }
  }
  return all;
}

/// The first of the stream; what comes first in a capture may have overtaken it.
wire::Psn first_psn_of(const Conversation& conversation) {
  wire::Psn first = conversation.requests.front().psn;
  for (const Packet& packet : conversation.requests) {
    if (wire::Psn::distance(first, packet.psn) < 0) first = packet.psn;
  }
  return first;
}

std::vector<std::string> our_answers(const Conversation& conversation, std::uint32_t mtu) {
  // Whether a key is right can't be told from outside: one for all.
  constexpr std::uint32_t kKey = 1;
  transport::Memory memory(transport::Memory::Kind::virtual_only, 0, ~std::uint64_t{0}, kKey);
  transport::PayloadStore store;
  transport::QpConfig config;
  config.mtu = mtu;
  config.receive_psn = first_psn_of(conversation);
  config.endless_receives = true;
  transport::QueuePair pair(config, memory, store);
  std::vector<std::string> answers;
  for (Packet request : conversation.requests) {
    request.r_key = kKey;
    pair.receive(request, Instant{});
    Packet answer;
    while (pair.next(Instant{}, answer)) {
      answers.push_back(line_of(answer));
      answer = {};
    }
  }
  return answers;
}

struct Case {
  const char* file;
  std::size_t at_least;  // answers in all, so that an empty comparison can't pass
  std::uint32_t mtu = 4096;
};

class RxeReplay : public testing::TestWithParam<Case> {};

TEST_P(RxeReplay, we_answer_as_it_did) {
  std::size_t compared = 0;
  for (const auto& [asker, conversation] : conversations_of(GetParam().file)) {
    if (conversation.requests.empty()) continue;
    SCOPED_TRACE(asker.first + " asks QP " + std::to_string(asker.second));
    EXPECT_EQ(our_answers(conversation, GetParam().mtu), conversation.answers);
    compared += conversation.answers.size();
  }
  EXPECT_GE(compared, GetParam().at_least);
}

// Not among them: loss_read_requester_side, where soft-RoCE goes on with a READ's first answer
// (MIDDLE, LAST) though the rest was asked for anew, and we answer the new request (FIRST, ONLY);
// rnr_nak, whose receives nobody sees.
INSTANTIATE_TEST_SUITE_P(Captures, RxeReplay,
                         testing::Values(Case{"rc_write_send_read.pcap", 20},
                                         Case{"rc_mtu1024.pcap", 20, 1024}, Case{"ipv6_rc.pcap", 5},
                                         Case{"vlan100.pcap", 5}, Case{"atomic.pcap", 5},
                                         Case{"netem_reorder.pcap", 5}, Case{"cm_rping.pcap", 5},
                                         Case{"cm_perftest_R.pcap", 5},
                                         Case{"ipv6_cm_rping.pcap", 5}, Case{"tos_dscp.pcap", 5}),
                         [](const auto& test) {
                           const std::string file = test.param.file;
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace lw::test
