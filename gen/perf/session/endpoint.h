// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "gen/perf/session/class_counts.h"
#include "gen/perf/session/frame_port.h"
#include "gen/perf/session/pattern_memory.h"
#include "gen/perf/session/quiet.h"
#include "gen/perf/session/session_params.h"
#include "nic/clock.h"
#include "nic/idle.h"
#include "transport/qp_scheduler.h"

namespace lw::gen {

class Ports;
struct EndpointOptions;

/// Counts the packets of one connection.
class PacketWatch {
 public:
  virtual ~PacketWatch() = default;
  /// A packet left, in a frame of `bytes`, without FCS.
  virtual void sent(const transport::Packet& packet, std::size_t bytes) noexcept = 0;
  /// A packet with a valid ICRC arrived, in a frame of `bytes`, without FCS.
  virtual void received(const transport::Packet& packet, std::size_t bytes) noexcept = 0;
};

/// One end of a connection: a QP, its memory region, and the header fields, including
/// encapsulation, that all its frames share.
class Connection {
 public:
  /// A connection's region of `size` bytes: computed by `content` or `pattern`, or stored if both
  /// are null.
  struct Region {
    std::uint64_t size = 0;
    std::unique_ptr<PatternMemory> pattern = nullptr;
    transport::MemoryContent* content = nullptr;  // outlives the connection
    std::optional<RemoteMemory> place = {};  // none: MemoryLayout::va_of(qpn) and r_key_of(qpn)
    /// The region that `params` ask for. Arguments: those of PatternMemory.
    static Region of(Side own, std::uint32_t qpn, std::uint32_t client_qpn,
                     const SessionParams& params, PatternMemory::Numbers numbers);
  };

  /// Attaches the QP to `qps` and detaches it at the end. Frames have the addresses and the class
  /// of `channel`. `qps` and `store` outlive it.
  Connection(transport::QpSet& qps, const transport::QpConfig& config, Region region,
             const Peer& peer, const FrameChannel& channel, transport::PayloadStore& store);
  ~Connection() { qps_.detach(index_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Queues a work request. Returns false if the send queue is full, or if the request's local
  /// bytes are not in the connection's memory.
  bool post(const transport::WorkRequest& request, Instant now) {
    return qps_.post(index_, request, now);
  }
  /// Queues a receive. Returns false if it is not in the connection's memory.
  bool post(const transport::Receive& receive) { return pair_.post(receive); }
  /// Runs an application on the QP.
  void run(transport::Application& application) noexcept { qps_.run(index_, application); }

  /// `watch` gets each packet from now on, and outlives the connection; null: nothing does.
  void watch(PacketWatch* watch) noexcept { watch_ = watch; }

  [[nodiscard]] transport::Memory& memory() noexcept { return memory_; }
  /// Returns what computes the memory's bytes; null if they are stored.
  [[nodiscard]] PatternMemory* pattern() noexcept { return pattern_.get(); }
  [[nodiscard]] const transport::QueuePair& pair() const noexcept { return pair_; }
  [[nodiscard]] const OwnAddress& peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint32_t qpn() const noexcept { return pair_.config().qpn; }
  /// Index of the QP in its QpSet.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Arrival time of the last packet; before the first one, time of the connection's creation.
  [[nodiscard]] Instant last_heard() const noexcept { return last_heard_; }

 private:
  friend class Endpoint;
  transport::QpSet& qps_;
  std::unique_ptr<PatternMemory> pattern_;
  transport::Memory memory_;
  transport::QueuePair pair_;
  std::uint32_t index_;  // of the QP among qps_
  OwnAddress peer_;
  roce::FrameFields fields_;
  roce::MarksOfKinds marks_;
  PacketWatch* watch_ = nullptr;
  bool port_by_message_ = false;  // the UDP source port changes with each message
  Instant last_heard_;
  Duration catch_up_;  // maximum by which next_packet() may backdate a packet
  Instant paced_until_ = transport::kNever;
};

/// RDMA connections over one channel: drives a QP scheduler in real time, as sim::Host does in
/// virtual time. One thread; `channel` outlives it.
class Endpoint final : public transport::QpScheduler<Endpoint> {
 public:
  /// `idle`: what poll() does when there is nothing to do. Sets the calling thread's timer slack to
  /// 1 ns, so that the kernel wakes it on time.
  Endpoint(FrameChannel& channel, IdleMode idle);

  /// Returns a QP number that no connection has, from 0x11. It is new until all 24 bits are used.
  std::uint32_t reserve_qpn() noexcept;
  /// Adds a connection; config.qpn is a reserved one. The reference is valid until remove().
  Connection& add(const transport::QpConfig& config, Connection::Region region, const Peer& peer);
  void remove(std::uint32_t qpn);
  [[nodiscard]] Connection* find(std::uint32_t qpn) noexcept;
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

  /// Called with the frame of each connection management datagram.
  std::function<void(const roce::Frame&)> on_management;
  /// Called with each frame to a QP number without a connection; it may add the connection.
  std::function<void(const roce::Frame&)> on_unknown_qp;
  void send_management(wire::Bytes mad, const Peer& peer);

  /// Receives a burst, runs timers, and sends at most a burst; idles if there was nothing to do.
  /// Returns true if there was something to do. Errors: those of the channel.
  Result<bool> poll(Instant now = nic::now());
  /// As poll(), but does not idle.
  Result<bool> work(Instant now);
  /// After a work() with nothing to do: how long the thread may sleep; 0: poll again.
  [[nodiscard]] Duration pause(Instant now) noexcept;
  /// Returns the time of the latest poll().
  [[nodiscard]] Instant now() const noexcept { return now_; }

  [[nodiscard]] const FrameChannel& channel() const noexcept { return channel_; }

  /// Begins to watch for stalls of the polling thread.
  void begin_watch(Instant now) noexcept {
    stalls_ = StallWatch();
    stalls_.start(now);
    classes_.clear();
  }
  [[nodiscard]] const Stalls& stalls() const noexcept { return stalls_.stalls(); }

  /// Packets of connections by class, since the latest begin_watch(). The thread's own.
  [[nodiscard]] const ClassCounts& classes() const noexcept { return classes_; }
  /// Packets to connections with a P_Key of another partition, which were not taken.
  [[nodiscard]] std::uint64_t other_partition() const noexcept { return other_partition_; }

 private:
  friend class transport::QpScheduler<Endpoint>;
  struct Draft {
    transport::Packet packet;
  };

  // Interface of QpScheduler. Each poll() may send a burst of packets. A post() only queues: an
  // application that posts in on_completion() is not called again before it returns.
  static constexpr bool kSendsOnPost = false;
  [[nodiscard]] bool port_free(Instant /*now*/) const noexcept { return may_send_ > 0; }
  Draft& draft() noexcept { return draft_; }
  bool next_packet(std::uint32_t qp, transport::QueuePair& pair, Instant now,
                   transport::Packet& packet);
  void release(const transport::Packet& packet) { store_.release(packet.data); }
  void put_on_link(std::uint32_t qp, Draft& draft, Instant now);

  void receive(const roce::Frame& frame, Instant now);
  void count(const transport::Packet& packet, const roce::FrameFields& fields) noexcept;
  void idle(Instant now) noexcept;

  FrameChannel& channel_;
  Instant now_ = nic::now();
  transport::PayloadStore store_{transport::PayloadStore::Sending::lends};
  std::vector<Connection*> by_index_;                                 // by index of the QP
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;  // by QP number
  std::uint32_t last_qpn_ = 0x10;
  std::uint32_t mad_psn_ = 0;
  std::size_t may_send_ = 0;  // packets that this poll() may still send
  Draft draft_;
  nic::Idle idle_;
  Quiet quiet_;
  StallWatch stalls_;
  ClassCounts classes_;
  std::uint64_t other_partition_ = 0;
  Instant next_sample_{};
};

/// An endpoint with its port and capture file. Opens and closes them in order.
class EndpointContext {
 public:
  /// `beside`: a second port, from which the caller receives; empty: none. Links may still be down
  /// afterwards. Errors: those of the ports, of the capture file, and of the class.
  static Result<std::unique_ptr<EndpointContext>> open(const EndpointOptions& options,
                                                       const OwnAddress& own,
                                                       const std::string& beside = {});
  ~EndpointContext();
  EndpointContext(const EndpointContext&) = delete;
  EndpointContext& operator=(const EndpointContext&) = delete;

  /// Errors (environment): the link is still down after `timeout`, or `stop` was set.
  Result<void> wait_link(Duration timeout, const std::atomic<bool>& stop);
  /// Errors (usage): the port's MTU is too small for frames of `size` bytes; the message names the
  /// command that raises it.
  [[nodiscard]] Result<void> check_frame(std::size_t size) const;
  /// Link rate in bit/s, if the port knows it.
  [[nodiscard]] std::optional<double> link_bps() const;
  [[nodiscard]] Endpoint& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] FramePort& port() noexcept { return *port_; }
  /// Begins to watch what this machine loses and delays.
  void begin_watch();
  /// What it lost and delayed since.
  [[nodiscard]] Machine machine();
  /// The second port; null without one.
  [[nodiscard]] nic::Port* beside() noexcept;
  /// Sends the queued frames and completes the capture file. Doesn't wait until the peer has read
  /// the frames in shared memory rings: the peer has answered all requests by now, and closing the
  /// port waits at most 100 ms for it. Errors: the port can't send.
  Result<void> close();

 private:
  explicit EndpointContext(Ports ports);
  std::optional<capture::Writer> copy_;
  std::unique_ptr<Ports> ports_;
  std::optional<FramePort> port_;
  std::optional<Endpoint> endpoint_;
  Instant watched_since_{};
};

/// An application that serves one connection.
class Service : public transport::Application {
 public:
  [[nodiscard]] virtual ServerStats stats() const noexcept = 0;
  /// Payload bytes of the received messages.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// Returns true if the service has no READ or atomic of its own that the peer must still answer.
  [[nodiscard]] virtual bool settled() const noexcept { return true; }
  /// Received messages of which each byte was compared.
  [[nodiscard]] virtual std::uint64_t compared() const noexcept { return stats().checked; }
};

/// The responder of perf: fills memory for READs, posts receives for SENDs, checks every byte of
/// each message, and echoes it, or makes a request of its own for it, if the parameters ask for
/// that.
class PerfService final : public Service {
 public:
  /// `connection` is new, has MemoryLayout::region(params) of memory, and outlives the service.
  PerfService(Connection& connection, const SessionParams& params);

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

  [[nodiscard]] ServerStats stats() const noexcept override;
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::uint64_t compared() const noexcept override;
  [[nodiscard]] bool settled() const noexcept override;

 private:
  void serve_fetch(const transport::Completion& arrival);
  void take_own(const transport::Completion& done);
  void post_receive(std::uint64_t number);
  void check(const transport::Completion& arrival);
  [[nodiscard]] bool is_whole(const transport::Completion& arrival);
  [[nodiscard]] bool is_stored_whole(const transport::Completion& arrival);
  [[nodiscard]] bool is_new(std::uint64_t number);
  void echo(Instant now);
  void send_due(Instant now);
  void post(std::uint64_t number, Instant now);
  void post_fetch(std::uint64_t number, Instant now);

  Connection& connection_;
  SessionParams params_;
  MemoryLayout layout_;
  PayloadPattern received_pattern_, sent_pattern_;
  analysis::SequenceTracker numbers_;  // of received messages, if lossy()
  std::uint64_t copies_ = 0;           // duplicates among them
  std::uint64_t fetched_ = 0;          // READs and atomics that arrived
  std::uint64_t arrived_ = 0, wrong_ = 0, bytes_ = 0;
  std::uint64_t sent_ = 0;  // own requests of a session both ways
};

}  // namespace lw::gen
