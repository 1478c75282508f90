// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a frame, behind every link header that we know: envelope, tunnels, frame, ICRC,
// reassembly.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "roce/envelope.h"
#include "roce/frame.h"
#include "roce/tunnel.h"
#include "support/reassembler.h"

namespace {

using namespace lw;

void read_all(const roce::Frame& frame) {
  volatile std::size_t sum = frame.payload_length + roce::FlowKeyHash{}(roce::flow_key(frame));
  for (const std::byte b : frame.payload) sum = sum + std::to_integer<std::size_t>(b);
  if (frame.mad) sum = sum + frame.mad->fields().attribute_id;
  if (frame.defect) sum = sum + to_string(*frame.defect).size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto link = static_cast<roce::LinkType>(data[0] & 3);
  const std::size_t cut_off = data[1];
  const std::span bytes{reinterpret_cast<const std::byte*>(data + 2), size - 2};
  auto envelope = roce::open_envelope(bytes, bytes.size() + cut_off, link);
  if (data[0] & 4) {
    roce::TunnelStack tunnels;
    roce::open_tunnels(envelope, tunnels);
    static_cast<void>(tunnels.text().size() + tunnels.source().size() + tunnels.unopened().size());
    // What is inside is within the frame.
    const bool inside =
        envelope.bytes.data() >= bytes.data() &&
        envelope.bytes.data() + envelope.bytes.size() <= bytes.data() + bytes.size();
    if (!inside || envelope.wire_length < envelope.bytes.size()) std::abort();
  }
  roce::check_icrc(envelope);
  static_cast<void>(envelope.source().size() + envelope.destination().size());
  const auto frame = roce::parse(envelope);
  if (!frame) return 0;
  read_all(*frame);
  if (!frame->defect) {
    test::Reassembler reassembler;
    reassembler.add(*frame);
    reassembler.add(*frame);
  }
  return 0;
}
