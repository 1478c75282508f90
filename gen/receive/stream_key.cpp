// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/stream_key.h"

#include <vector>

#include "roce/compose.h"
#include "roce/message.h"

namespace lw::gen {

StreamKey plain_stream(const roce::Frame& frame) noexcept {
  StreamKey stream{.key = roce::flow_key(frame)};
  if (frame.rdeth != nullptr)
    stream.source_qp = frame.rdeth->ee_context.get();
  else if (frame.deth != nullptr)
    stream.source_qp = frame.deth->src_qp.get();
  return stream;
}

StreamKey plain_stream(const config::Flow& flow) {
  const roce::MessagePacket packet = packet_of(flow.message, 0);
  roce::FrameFields fields = flow.frame;
  fields.bth.opcode = packet.opcode;
  const std::vector<std::byte> bytes =
      roce::compose(fields, std::vector<std::byte>(packet.payload));
  const auto frame = roce::parse(wire::Bytes(bytes));
  return frame ? plain_stream(*frame) : StreamKey{};
}

}  // namespace lw::gen
