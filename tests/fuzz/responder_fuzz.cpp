// SPDX-License-Identifier: BSD-3-Clause
// A sequence of frames at roce-gen respond, all with a valid ICRC: requests for connections with
// any parameters, confirmations, requests that use the connections, and time. Nothing outside a
// region is touched (the sanitizers see it), and what is open fits in the memory.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "support/responder_lab.h"

namespace {

using namespace lw;

constexpr std::uint64_t kMemory = 1u << 20;

/// The input as numbers: 0 behind its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  template <class T>
  T read() {
    T value{};
    const std::size_t size = std::min(sizeof value, rest_.size());
    std::memcpy(&value, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }
  wire::Bytes read_bytes(std::size_t most) {
    const auto bytes = std::as_bytes(rest_.first(std::min(most, rest_.size())));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A client that knows what the responder has told it, and lies.
class Client {
 public:
  explicit Client(Input input) : input_(input) {}

  void run() {
    constexpr int kMost = 200;  // steps
    for (int i = 0; i < kMost && !input_.empty(); ++i) {
      step();
      lab_.poll();
      lab_.take_answers();
      if (lab_.side.memory() > kMemory || lab_.side.open() > 64) std::abort();
    }
    lab_.side.finish();
    if (lab_.side.memory() != 0) std::abort();
  }

 private:
  enum class Step : std::uint8_t { ask, change_request, confirm, packet, wait, end, mad, kinds };

  void step() {
    switch (static_cast<Step>(input_.read<std::uint8_t>() % static_cast<unsigned>(Step::kinds))) {
      case Step::ask:
        return ask();
      case Step::change_request:
        return change_request();
      case Step::confirm:
        return lab_.give_mad(gen::to_mad(wire::CmMessage::rtu, 1, ids()));
      case Step::packet:
        return packet();
      case Step::wait:
        lab_.now += Duration{std::int64_t{1} << input_.read<std::uint8_t>() % 40};
        return lab_.side.sweep(lab_.now);
      case Step::end:
        return lab_.give_mad(gen::disconnect_mad(1, ids(), lab_.reply.qp.qpn));
      default:
        return lab_.give_mad(input_.read_bytes(wire::kMadSize));
    }
  }
  [[nodiscard]] gen::CmIds ids() const {
    return {.local = comm_id_, .remote = lab_.reply.ids.local};
  }
  /// Parameters that are mostly possible.
  void ask() {
    const auto flags = input_.read<std::uint8_t>();
    const auto kind = input_.read<std::uint8_t>();
    gen::SessionParams params{
        .transport = static_cast<wire::Transport>(kind % 4),
        .operation = static_cast<wire::Operation>(kind / 4 % 9),
        .immediate = (flags & 1) != 0,
        .echo = (flags & 2) != 0,
        .read_back = (flags & 4) != 0,
        .size = input_.read<std::uint16_t>(),
        .slots = input_.read<std::uint8_t>(),
        .depth = input_.read<std::uint8_t>(),
        .va = input_.read<std::uint64_t>(),
        .rate_control = static_cast<transport::RateControl>(flags >> 4 & 3),
        .rate_bps = input_.read<std::uint32_t>(),
        .selective_repeat = (flags & 8) != 0,
    };
    gen::ConnectRequest request = lab_.request(++comm_id_, params);
    if ((flags & 0x40) != 0) request.port = test::ResponderLab::kPingPort;
    request.mtu = 256u << flags % 5;
    lab_.give_mad(gen::to_mad(1, request));
  }
  /// A possible request of which some bytes are changed.
  void change_request() {
    gen::MadBytes mad = gen::to_mad(
        1, lab_.request(++comm_id_, {.operation = wire::Operation::send, .size = 64, .slots = 4}));
    for (int i = input_.read<std::uint8_t>() % 8; i > 0; --i)
      mad[input_.read<std::uint8_t>()] = static_cast<std::byte>(input_.read<std::uint8_t>());
    lab_.give_mad(mad);
  }
  /// A packet near the expected PSN, to addresses near the region.
  void packet() {
    roce::FrameFields fields = test::ResponderLab::fields_from(
        1, input_.read<std::uint8_t>(), lab_.reply.qp.qpn + input_.read<std::uint8_t>() / 128);
    if (wire::find_opcode(fields.bth.opcode) == nullptr) return;
    const auto ahead = static_cast<std::int8_t>(input_.read<std::uint8_t>());
    psn_ = psn_ + 1;
    fields.bth.psn =
        lab_.reply.qp.first_psn + ((psn_ + static_cast<std::uint32_t>(ahead)) & wire::Psn::kMask);
    fields.bth.ack_req = true;
    const std::uint64_t va = gen::MemoryLayout::va_of(lab_.reply.qp.qpn) +
                             static_cast<std::uint64_t>(input_.read<std::int32_t>());
    const std::uint32_t key = gen::MemoryLayout::r_key_of(lab_.reply.qp.qpn);
    fields.reth = {.va = va, .r_key = key, .dma_length = input_.read<std::uint32_t>()};
    fields.atomiceth = {.va = va, .r_key = key, .swap_or_add = 1, .compare = 0};
    fields.aeth.syndrome = input_.read<std::uint8_t>();
    fields.aeth.msn = input_.read<std::uint8_t>();
    fields.deth.q_key = transport::QpConfig{}.q_key;
    lab_.channel.give(fields, wire::Bytes(payload_).first(input_.read<std::uint16_t>() % 4097));
  }

  Input input_;
  test::ResponderLab lab_{kMemory};
  std::uint32_t comm_id_ = 0;
  std::uint32_t psn_ = ~0u;
  static constexpr std::array<std::byte, 4096> payload_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Client(Input(data, size)).run();
  return 0;
}
