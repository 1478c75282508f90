// SPDX-License-Identifier: BSD-3-Clause
// Any answers at roce-gen's connection manager as a client: it gets its connections or an error
// with a printable reason, and what it sends later stays in its own memory.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "support/responder_lab.h"

namespace {

using namespace lw;

/// Answers each of the client's datagrams with a possible reply, of which the input changes bytes.
class LyingResponder final : public gen::FrameChannel {
 public:
  LyingResponder(const std::uint8_t* data, std::size_t size, std::atomic<bool>& stop)
      : FrameChannel(test::test_host(1), false), data_(data), size_(size), stop_(stop) {}

  Result<std::size_t> receive(const std::function<void(const roce::Frame&)>& on_frame) override {
    if (size_ == 0 || asked_.empty()) {
      stop_ = true;
      return 0;
    }
    const auto heading = gen::read_heading(asked_);
    const bool opens = heading && heading->message == wire::CmMessage::req;
    const gen::CmIds ids{.local = 0x12, .remote = heading ? heading->ids.local : 0};
    gen::MadBytes mad = opens ? gen::to_mad(1, gen::ConnectReply{.ids = ids, .qp = {}})
                              : gen::to_mad(wire::CmMessage::drep, 1, ids);
    for (int i = next() % 12; i > 0; --i) {
      const std::uint8_t at = next();
      mad[at] = static_cast<std::byte>(next());
    }
    const auto frame = frame_of(mad);
    on_frame(*roce::parse(roce::open_envelope(frame)));
    return 1;
  }
  void send(const roce::FrameFields& /*fields*/, const transport::PayloadView& payload) override {
    asked_.resize(payload.size());
    payload.write_to(asked_);
  }
  Result<void> flush() override { return {}; }

 private:
  std::uint8_t next() noexcept {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  [[nodiscard]] static std::vector<std::byte> frame_of(wire::Bytes mad) {
    constexpr std::uint8_t kUdSendOnly = 0x64;
    roce::FrameFields fields =
        test::TestChannel(test::test_host(2)).fields_to({test::test_host(1)});
    fields.bth.opcode = kUdSendOnly;
    fields.bth.dest_qp = wire::kGeneralServicesQp;
    fields.deth = {.q_key = wire::kQKeyGeneralServices, .src_qp = wire::kGeneralServicesQp};
    return roce::compose(fields, mad);
  }

  const std::uint8_t* data_;
  std::size_t size_;
  std::atomic<bool>& stop_;
  std::vector<std::byte> asked_;
};

void expect_printable(const Error& error) {
  const bool plain =
      std::ranges::all_of(error.message, [](char c) { return c >= ' ' && c <= '~'; });
  if (error.message.empty() || !plain) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::atomic<bool> stop{false};
  LyingResponder channel(data, size, stop);
  gen::Endpoint endpoint(channel, IdleMode::spin);
  gen::ActiveSide client(endpoint,
                         {.peer = test::test_host(2),
                          .port = test::ResponderLab::kPort,
                          .timeout = std::chrono::seconds(10)},
                         stop);
  transport::QpConfig qp;
  qp.mtu = 1024;
  auto connected = client.connect({.operation = wire::Operation::write, .size = 64}, qp, 1);
  if (!connected) return expect_printable(connected.error()), 0;
  gen::Connected& one = connected->front();
  const gen::MemoryLayout layout(one.connection->qpn(), one.params);
  const bool posted = one.connection->post({.length = 64,
                                            .local_va = layout.outbox(),
                                            .remote_va = one.remote.va,
                                            .r_key = one.remote.r_key},
                                           endpoint.now());
  if (!posted) std::abort();
  (void)endpoint.poll();
  if (const auto ended = client.disconnect(*connected); !ended) expect_printable(ended.error());
  return 0;
}
