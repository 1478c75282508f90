// SPDX-License-Identifier: BSD-3-Clause
// A sequence of connection management datagrams at roce-impair's learner: it learns a connection
// only from a reply to a request that it has seen.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "roce/cm_learner.h"
#include "roce/compose.h"
#include "wire/mad.h"

namespace {

using namespace lw;

/// A datagram to QP 1 with this MAD, which may be cut.
std::vector<std::byte> datagram(bool there, wire::Bytes mad) {
  constexpr std::uint8_t kUdSendOnly = 0x64;
  roce::FrameFields fields;
  fields.ipv4.source.bytes[3] = std::byte{there ? std::uint8_t{1} : std::uint8_t{2}};
  fields.ipv4.destination.bytes[3] = std::byte{there ? std::uint8_t{2} : std::uint8_t{1}};
  fields.bth.opcode = kUdSendOnly;
  fields.bth.dest_qp = wire::kGeneralServicesQp;
  fields.deth = {.q_key = wire::kQKeyGeneralServices, .src_qp = wire::kGeneralServicesQp};
  return roce::compose(fields, mad);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  roce::CmLearner learner;
  std::size_t requests = 0, learnt = 0;
  auto rest = std::as_bytes(std::span(data, size));
  while (rest.size() >= 2) {
    const auto head = std::to_integer<unsigned>(rest[0]);
    const std::size_t length = std::min<std::size_t>(
        {std::to_integer<std::size_t>(rest[1]) + 1, rest.size() - 2, wire::kMadSize});
    const auto frame = datagram((head & 1) != 0, rest.subspan(2, length));
    // A capture may have cut the frame; the bytes behind it must not be read.
    const std::size_t kept = frame.size() - std::min<std::size_t>(frame.size(), head >> 1);
    const std::vector<std::byte> exact(frame.begin(),
                                       frame.begin() + static_cast<std::ptrdiff_t>(kept));
    const auto envelope = roce::open_envelope(exact, frame.size());
    rest = rest.subspan(2 + length);
    if (!envelope.is_roce()) continue;
    const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
    if (bth == nullptr) continue;
    const auto sighting = roce::cm_sighting(envelope, *bth);
    if (!sighting) continue;
    if (!sighting->reply) ++requests;
    if (learner.hear(*sighting)) ++learnt;
  }
  if (learnt > requests) std::abort();
  return 0;
}
