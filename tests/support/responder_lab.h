// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "gen/perf/cm/connection_manager.h"
#include "roce/compose.h"
#include "transport/packet.h"

namespace lw::test {

inline gen::OwnAddress test_host(std::uint8_t number) {
  return {{{std::byte{2}, {}, {}, {}, {}, std::byte{number}}},
          wire::Ipv4Address{{std::byte{198}, std::byte{18}, {}, std::byte{number}}}};
}

/// A channel whose frames a test gives, and which keeps what is sent.
class TestChannel final : public gen::FrameChannel {
 public:
  struct Sent {
    roce::FrameFields fields;
    std::vector<std::byte> payload;
  };

  explicit TestChannel(const gen::OwnAddress& own) : FrameChannel(own, false) {}

  /// The next receive() passes on the frame, with a valid ICRC.
  void give(const roce::FrameFields& fields, wire::Bytes payload) {
    waiting_.push_back(roce::compose(fields, payload));
  }
  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& on_frame) override {
    const auto frames = std::exchange(waiting_, {});
    for (const auto& bytes : frames) {
      const auto frame = roce::parse(roce::open_envelope(bytes));
      if (frame && frame->info != nullptr && !frame->defect) on_frame(*frame);
    }
    return frames.size();
  }
  void send(const roce::FrameFields& fields, const transport::PayloadView& payload) override {
    sent.push_back({fields, std::vector<std::byte>(payload.size())});
    payload.write_to(sent.back().payload);
  }
  Result<void> flush() override { return {}; }

  std::vector<Sent> sent;

 private:
  std::vector<std::vector<std::byte>> waiting_;
};

inline bool is_mad(const TestChannel::Sent& sent) {
  return sent.fields.bth.dest_qp == wire::kGeneralServicesQp;
}

/// A responder, and clients that send it any frames. Time is the test's.
class ResponderLab {
 public:
  explicit ResponderLab(std::uint64_t memory)
      : channel(test_host(2)),
        endpoint(channel, IdleMode::spin),
        side(endpoint, {.port = kPort, .rping_port = kPingPort, .memory = memory}) {}

  static constexpr std::uint16_t kPort = 18515, kPingPort = 7174;

  /// A frame from host `host` to the QP. `opcode` and the fields of its headers are the caller's.
  [[nodiscard]] static roce::FrameFields fields_from(std::uint8_t host, std::uint8_t opcode,
                                                     std::uint32_t dest_qp) {
    roce::FrameFields fields = TestChannel(test_host(host)).fields_to({test_host(2)});
    fields.bth.opcode = opcode;
    fields.bth.dest_qp = dest_qp;
    return fields;
  }
  void give_mad(wire::Bytes mad, std::uint8_t host = 1) {
    constexpr std::uint8_t kUdSendOnly = 0x64;
    roce::FrameFields fields = fields_from(host, kUdSendOnly, wire::kGeneralServicesQp);
    fields.deth = {.q_key = wire::kQKeyGeneralServices, .src_qp = wire::kGeneralServicesQp};
    channel.give(fields, mad);
  }
  /// A request for a connection, as perf sends it.
  [[nodiscard]] static gen::ConnectRequest request(std::uint32_t comm_id,
                                                   const gen::SessionParams& params) {
    return {.comm_id = comm_id,
            .qp = {.qpn = 0x11, .first_psn = wire::Psn{kPsn}},
            .transport =
                params.transport == wire::Transport::uc ? wire::Transport::uc : wire::Transport::rc,
            .port = kPort,
            .mtu = kMtu,
            .source = test_host(1).ip,
            .destination = test_host(2).ip,
            .data = gen::to_private_data(params)};
  }
  void poll() { (void)endpoint.poll(now); }

  /// The MADs that the responder has sent since the last call.
  std::vector<wire::CmMessage> take_answers() {
    std::vector<wire::CmMessage> messages;
    for (const TestChannel::Sent& sent : channel.sent) {
      if (!is_mad(sent)) continue;
      const auto heading = gen::read_heading(sent.payload);
      if (!heading) continue;
      messages.push_back(heading->message);
      if (heading->message == wire::CmMessage::rep) reply = gen::read_reply(sent.payload).value();
      if (heading->message == wire::CmMessage::rej) refusal = gen::read_refusal(sent.payload);
    }
    channel.sent.clear();
    return messages;
  }
  /// Asks for a connection. Returns true if the responder replies; the reply is in `reply`.
  bool ask(std::uint32_t comm_id, const gen::SessionParams& params, std::uint8_t host = 1) {
    give_mad(gen::to_mad(1, request(comm_id, params)), host);
    poll();
    return take_answers() == std::vector{wire::CmMessage::rep};
  }
  /// Confirms the latest reply.
  void confirm(std::uint32_t comm_id, std::uint8_t host = 1) {
    give_mad(gen::to_mad(wire::CmMessage::rtu, 1, {.local = comm_id, .remote = reply.ids.local}),
             host);
    poll();
  }

  static constexpr std::uint32_t kPsn = 100, kMtu = 1024;

  TestChannel channel;
  gen::Endpoint endpoint;
  gen::PassiveSide side;
  Instant now = instant_from_ns(1'000'000'000);
  gen::ConnectReply reply;  // the latest
  std::string refusal;      // reason of the latest
};

}  // namespace lw::test
