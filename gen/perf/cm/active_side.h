// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/session/places.h"

namespace lw::gen {

/// A connection as its client has it.
struct Dialled {
  Connection* connection = nullptr;
  Terms terms;
  Offer offer = {};
  Findings findings = {};  // once hung up
  bool answered = false;   // the findings came
};

/// The active side of connection management: opens connections to one responder and ends them.
/// What isn't answered is asked again. (IBTA vol. 1, 12.9.5)
class ActiveSide {
 public:
  struct Config {
    OwnAddress peer;
    std::uint16_t port = 0;
    Duration patience{};  // for all answers together
  };
  /// Takes the endpoint's management datagrams. `endpoint` and `stop` outlive it.
  ActiveSide(Endpoint& endpoint, const Config& config, const std::atomic<bool>& stop);
  ActiveSide(const ActiveSide&) = delete;
  ActiveSide& operator=(const ActiveSide&) = delete;
  ~ActiveSide() { endpoint_.on_management = nullptr; }

  /// Opens `count` connections with these terms, the address and key of each its own. `qp` gives
  /// MTU, windows and patience. Errors: refused (failed), with the responder's reason; no answer
  /// (environment).
  Result<std::vector<Dialled>> dial(const Terms& terms, const transport::QpConfig& qp,
                                    std::uint32_t count);
  /// Ends them and takes down what the responder found; without its answer, after a while, too.
  Result<void> hang_up(std::vector<Dialled>& dialled);

 private:
  /// A question that is open.
  struct Call {
    std::uint32_t comm_id = 0;
    std::uint32_t qpn = 0;
    MadBytes mad{};
    bool done = false;
    Instant next = {};  // when to ask again
    ConnectReply reply = {};
  };
  void hear(const roce::Frame& frame);
  void take(Call& call, const CmHeading& heading, wire::Bytes mad);
  /// Until each call is done, or patience is out, or one is refused.
  Result<void> run();
  [[nodiscard]] bool all_done() const noexcept;
  Call request(const Terms& terms, const transport::QpConfig& qp);
  Dialled connect(const Call& call, const Terms& terms, transport::QpConfig qp);

  Endpoint& endpoint_;
  Config config_;
  const std::atomic<bool>& stop_;
  std::uint32_t next_comm_id_;
  std::vector<Call> calls_;
  std::map<std::uint32_t, Findings> findings_;  // by comm id
  std::map<std::uint32_t, CmIds> ids_;          // of open connections, by QP number
  std::optional<std::string> refused_;
};

}  // namespace lw::gen
