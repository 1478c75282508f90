// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/error.h"
#include "gen/ranks/assignment.h"
#include "gen/ranks/companions.h"
#include "gen/ranks/rank_timing.h"
#include "gen/ranks/ranks.h"
#include "gen/ranks/run_messages.h"
#include "report/json_line.h"

namespace lw::gen {

/// One run of all ranks that mpirun started: its steps, in their order. Every rank calls the same
/// functions; rank 0 leads. An error of any rank ends all of them: the functions then return an
/// error without a message, which fail_all() replaces by what to print. Main thread only.
class CommonRun final : public Companions {
 public:
  /// `signal`: set by SIGINT and SIGTERM; ends the run on all ranks. `quiet`: rank 0 does not say
  /// on standard error that the run has begun.
  CommonRun(Ranks& ranks, const std::atomic<bool>& signal, bool quiet);

  /// Tells the others what this rank is, and whether its options fit. Then selves() has all.
  /// Errors: of any rank; the programs or options differ.
  Result<void> meet(const RankSelf& self, const Result<void>& fit, const std::string& identity);
  /// A result that all ranks have computed from equal data: rank 0 reports its error for all.
  Result<void> agreed(const Result<void>& result);
  /// meet() with a profile, and the division of its flows. Returns the shares of all ranks. Errors:
  /// of any rank; the profiles or programs differ.
  Result<std::vector<RankShare>> introduce(const RankSelf& self,
                                           const Result<config::FlowProfile>& profile,
                                           const std::string& identity);

  Result<Start> start(nic::StampClock& clock, const Meanwhile& meanwhile) override;
  void begun() override;
  void poll() override;
  void sent(std::uint64_t frames, const std::string& failure) override;
  [[nodiscard]] std::optional<std::uint64_t> all_sent() const override { return all_sent_; }
  void end(const Meanwhile& meanwhile) override;

  /// True once a signal, or another rank, has stopped the run.
  [[nodiscard]] const std::atomic<bool>& stop() const noexcept { return stop_; }
  /// Why the run ended early; empty: it did not. Rank 0 knows the reasons of all.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  /// Rank 0: the results of each rank, its own among them; empty for a rank that sent none. Waits
  /// for them. Other ranks: sends `part` to rank 0.
  std::vector<std::string> collect(const std::string& part);
  /// What the ranks said of themselves, by rank.
  [[nodiscard]] const std::vector<RankSelf>& selves() const noexcept { return selves_; }
  /// Rank 0: clock and start of each rank, without its lateness. `parts`: of collect().
  [[nodiscard]] std::vector<RankTiming> timings(const std::vector<std::string>& parts) const;

  /// Ends the run of all ranks because of an error: this rank's own, or that of a function above.
  /// Returns what to print: on rank 0 the errors of all ranks, with their hosts; on the others
  /// nothing, as rank 0 does it. Call leave() next.
  Error fail_all(const Error& error);
  /// Rank 0: the errors of all ranks after a run that ended early; nothing if there were none.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Ends all ranks with an exit code: rank 0's. Returns it.
  ExitCode leave(ExitCode code);

 private:
  enum Kind : int;
  struct Peer {
    std::optional<Introduction> self;
    bool ready = false, failed = false, sent = false, ended = false, gone = false;
    std::uint64_t frames = 0;
    std::optional<std::string> part;
  };
  struct Failure {
    std::string text;
    ExitCode exit;
    std::vector<std::size_t> ranks;
  };

  void send(std::size_t to, Kind kind, const report::Json& json = {});
  void send_all(Kind kind, const report::Json& json = {});
  template <class Content>
  std::optional<Content> read(int from, const report::Json& json);
  void handle(const Ranks::Message& message);
  void handle_all();
  void handle_as_leader(int from, int kind, const report::Json& json);
  void note_sent(int from, const RankSent& sent);
  void handle_as_follower(int kind, const report::Json& json);
  void follow_signal();
  void note_failure(std::size_t rank, const Error& error);
  void stop_all(const std::string& reason);
  template <class Done>
  bool wait(Done done, const Meanwhile& meanwhile = {}, std::optional<Duration> longest = {});
  void nap() const;
  template <class Of>
  [[nodiscard]] bool every(Of of) const;
  std::unexpected<Error> fail_each(const std::string& what, ExitCode exit);
  [[nodiscard]] std::string name_of(std::size_t rank) const;
  void read_introductions(const std::string& identity);
  ExitCode follow_out();
  [[nodiscard]] Instant clock_now() const noexcept;
  ClockDifference compare_with(std::size_t rank, const Meanwhile& meanwhile);
  void announce_sent();

  Ranks& ranks_;
  const std::atomic<bool>& signal_;
  bool quiet_;
  Duration patience_;  // longest wait for the others after a signal
  std::atomic<bool> stop_{false};
  std::optional<Instant> stopped_at_, signalled_at_;
  std::string reason_;
  std::vector<Peer> peers_;           // rank 0: by rank
  std::vector<RankSelf> selves_;      // by rank, once introduced
  std::vector<RankShare> shares_;     // by rank
  std::vector<Failure> failures_;     // rank 0
  std::vector<RankClock> clocks_;     // rank 0: by rank
  nic::StampClock* clock_ = nullptr;  // of this rank; null before start()
  std::optional<Instant> pong_;       // rank 0: the last answer to a ping
  Instant last_ping_{};               // others: when it came
  std::optional<RunPlan> plan_;       // others
  std::optional<RunStart> start_;     // others
  std::optional<std::uint64_t> all_sent_;
  bool closed_ = false;
  std::optional<ExitCode> code_;  // others: rank 0 has ended the run
};

}  // namespace lw::gen
