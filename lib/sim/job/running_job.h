// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "sim/job/job.h"
#include "sim/job/send_watch.h"
#include "sim/network/network.h"

namespace lw::sim {

/// A job that runs: when each rank computes, sends and waits. `Jobs` gives it its QPs and their
/// events. Each rank's state changes only at its host, and at the time of that; hosts in several
/// parts of the network run on several threads, so what ranks have in common is locked, and does
/// not depend on who comes first.
class RunningJob {
 public:
  /// A message between the time from which it may be sent and its arrival.
  struct Message {
    std::uint32_t transfer = 0;
    CauseChain chain;  // up to when it was ready
    SendWatch::Sums at_ready, at_left;
    Instant left;  // its last packet, the last time; max(): it has not
    wire::Psn last_psn;
  };
  /// The end of a message leaves its host, or a packet of a QP leaves once more.
  struct LeftPacket {
    bool again = false;
    wire::Psn psn;
    Instant at;
    SendWatch::Sums sums;
    Message message = {};  // unless again
  };
  /// Messages of one rank to another on one channel, in order.
  struct SendQueue {
    SendQueue(RunningJob& of, std::uint32_t rank, const SendWay& way)
        : job(of), watch(way, of.ranks_[rank].own_ns) {}
    RunningJob& job;
    Node host = 0;  // that sends
    std::uint32_t qp = 0;
    // Of the sender:
    SendWatch watch;
    std::deque<Message> messages;          // that are not complete
    std::size_t posted = 0;                // of these; the others wait for room in the send queue
    bool crosses = false;                  // the receiver is in another part of the network
    std::vector<LeftPacket> left_packets;  // if it crosses: that the receiver does not know yet
    // Of the receiver:
    std::deque<Message> under_way;  // whose end has left, and that have not arrived
  };
  /// The times that a job asks for. `end` of computing.
  enum class Event : std::uint8_t { begin, communicate, post, end };

  /// `config` and `network` outlive it. `application` gets the events of this job's number.
  RunningJob(const JobConfig& config, std::size_t number, Network& network,
             transport::Application& application);

  /// Adds the queue of a rank's messages to another on a channel. The caller sets its QP, and sets
  /// the queue of each transfer, before start().
  SendQueue& add_queue(std::uint32_t from, const SendWay& way);
  void set_queue(std::uint32_t transfer, SendQueue& queue) { queue_of_[transfer] = &queue; }
  void start();

  void on_event(Event event, std::uint32_t number, Instant now);
  void arrive(SendQueue& queue, std::uint32_t transfer, std::uint32_t bytes, Instant now);
  /// The sender's next message is complete.
  void complete(SendQueue& queue, Instant now);
  /// Tells the receiver of a queue that crosses what has left. No other thread uses the queue.
  static void hand_over(SendQueue& queue);
  /// A packet of a queue leaves its host.
  static void left(SendQueue& queue, const transport::Packet& packet,
                   const transport::QueuePair& pair, Instant now);

  /// All ranks have ended all iterations.
  [[nodiscard]] bool done() const noexcept;
  /// Payload of all messages that arrived, and of all that the job has.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return result_.bytes; }
  [[nodiscard]] std::uint64_t all_bytes() const noexcept { return all_bytes_; }
  [[nodiscard]] const JobConfig& config() const noexcept { return config_; }
  [[nodiscard]] JobResult result() const;
  /// Of each QP the oldest message that is sent and has not arrived.
  [[nodiscard]] std::vector<StuckMessage> unanswered() const;

  /// An event's tag at the hosts has this, the job's number and that of a rank or transfer.
  static constexpr std::uint64_t tag_of(Event event, std::size_t job, std::uint32_t of) noexcept {
    return static_cast<std::uint64_t>(event) << 62 | std::uint64_t{job} << 32 | of;
  }
  static constexpr std::size_t job_of(std::uint64_t tag) noexcept {
    return (tag >> 32) & 0x3fff'ffff;
  }
  static constexpr Event event_of(std::uint64_t tag) noexcept {
    return static_cast<Event>(tag >> 62);
  }

 private:
  struct Rank {
    std::vector<std::uint32_t> in, out;  // transfers
    bool communicates = false;           // in this iteration
    bool waits_for_end = false;          // of its computing
    std::size_t to_arrive = 0, to_post = 0;
    Instant computes_until;
    CauseChain chain;                   // of the begin of its iteration, then of its communication
    double own_ns = 0;                  // time of its packets on its cable
    std::vector<Instant> began, ended;  // iterations
    std::unordered_map<std::uint32_t, CauseChain> delayed;  // transfers until they are posted

    [[nodiscard]] std::size_t iteration() const noexcept { return ended.size(); }
  };
  /// An iteration that some ranks have ended.
  struct Ending {
    std::size_t ranks = 0;
    CauseChain last;  // of those at one time, of the rank with the least number
    std::uint32_t last_rank = 0;
  };

  void begin(std::uint32_t rank, const CauseChain& chain);
  void communicate(std::uint32_t rank, Instant now);
  void make_ready(std::uint32_t transfer, const CauseChain& chain);
  void post(std::uint32_t transfer, const CauseChain& chain);
  void post_ready(SendQueue& queue, Instant now);
  static void note_left(SendQueue& queue, const LeftPacket& left);
  void end_if_done(std::uint32_t rank, const CauseChain& chain);
  void end(std::uint32_t rank, const CauseChain& chain);
  void note_end(std::uint32_t rank, const CauseChain& chain);
  void note(const Message& message, const TimeParts& parts, std::uint32_t bytes, Instant now);
  void later(std::uint32_t rank, Event event, std::uint32_t of, Instant at);
  [[nodiscard]] bool may_go(std::uint32_t transfer) const noexcept;

  const JobConfig& config_;
  const Schedule& schedule_;
  std::size_t number_;
  Network& network_;
  transport::Application& application_;
  std::uint64_t all_bytes_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::uint32_t>> next_;  // transfers that wait for each
  std::vector<std::uint32_t> arrived_;            // of each transfer: in so many iterations
  std::vector<std::uint32_t> step_;               // of each transfer
  std::vector<SendQueue*> queue_of_;
  std::deque<SendQueue> queues_;
  std::vector<TimelineMessage> timeline_;  // of the first transfers; `arrived` 0: not yet
  std::mutex common_;                      // of what follows
  std::deque<Ending> endings_;             // from iteration `ended_`
  std::size_t ended_ = 0;                  // by all ranks
  JobResult result_;                       // without iterations and timeline
};

}  // namespace lw::sim
