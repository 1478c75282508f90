// SPDX-License-Identifier: BSD-3-Clause
// Scheduler of the QPs that share one port: arbitration, timers and completions. Time and packets
// pass through a driver: sim::Host in virtual time, gen::Endpoint in real time.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "transport/event_queue.h"
#include "transport/queue_pair.h"

namespace lw::transport {

class QpSet;

/// Code that runs on QPs. It gets each completion and each arrival, and may post more meanwhile.
class Application {
 public:
  virtual ~Application() = default;
  virtual void on_completion(QpSet& qps, std::uint32_t qp, const Completion& done, Instant now) = 0;
  /// A time has come that the application asked its driver for.
  virtual void on_time(QpSet& /*qps*/, std::uint64_t /*tag*/, Instant /*now*/) {}
};

/// The QPs of one host, by index, as its applications see them. One thread.
class QpSet {
 public:
  QpSet() = default;
  QpSet(const QpSet&) = delete;
  QpSet& operator=(const QpSet&) = delete;
  QpSet(QpSet&&) = delete;
  QpSet& operator=(QpSet&&) = delete;
  virtual ~QpSet() = default;

  /// Adds a QP, which must outlive this object or be detached first. Returns its index, the lowest
  /// free one. Not to be called from on_completion().
  /// `destination` names the host that the QP's packets go to, for CnpScope.
  std::uint32_t attach(QueuePair& pair, std::uint64_t destination) {
    while (first_free_ < slots_.size() && slots_[first_free_].pair != nullptr) ++first_free_;
    const std::uint32_t index = first_free_++;
    if (index == slots_.size()) slots_.emplace_back();
    slots_[index] = {.pair = &pair, .application = application_};
    share_notifications(pair, destination);
    return index;
  }
  /// Removes a QP. Not to be called from on_completion().
  virtual void detach(std::uint32_t qp) {
    slots_[qp] = {};
    first_free_ = std::min(first_free_, qp);
  }

  [[nodiscard]] QueuePair& qp(std::uint32_t index) noexcept { return *slots_[index].pair; }
  [[nodiscard]] std::size_t qps() const noexcept { return slots_.size(); }

  /// Runs an application on all QPs, those attached later included, or on one QP.
  void run(Application& application) noexcept {
    application_ = &application;
    for (Slot& slot : slots_) slot.application = &application;
  }
  void run(std::uint32_t qp, Application& application) noexcept {
    slots_[qp].application = &application;
  }

  /// Queues a work request. False: the send queue is full, or the request's local bytes are not in
  /// the QP's memory.
  virtual bool post(std::uint32_t qp, const WorkRequest& request, Instant now) = 0;
  /// Queues a receive. False: its bytes are not in the QP's memory.
  bool post(std::uint32_t qp, const Receive& receive) { return slots_[qp].pair->post(receive); }

 protected:
  struct alignas(32) Slot {  // its address is a shift
    QueuePair* pair = nullptr;
    Application* application = nullptr;
    Instant timer = kNever;  // its entry in timers_
    bool waiting = false;    // in the ready queue, or keeps the port
    bool urgent = false;     // in the urgent queue
  };
  std::vector<Slot> slots_;

 private:
  void share_notifications(QueuePair& pair, std::uint64_t destination) {
    const DcqcnConfig& dcqcn = pair.config().dcqcn;
    if (dcqcn.cnp_scope == CnpScope::qp) return;
    const std::uint64_t key = dcqcn.cnp_scope == CnpScope::port ? 0 : destination;
    pair.share_notifications(notifications_.try_emplace(key, dcqcn).first->second);
  }

  Application* application_ = nullptr;
  std::uint32_t first_free_ = 0;                              // no slot before it is free
  std::map<std::uint64_t, NotificationPoint> notifications_;  // by destination; 0: of the port
};

/// Arbitration: ACKs, NAKs and CNPs go first; otherwise a QP keeps the port until its message ends
/// or its burst is over, then the next QP in turn sends. Timers expire QPs and wake those that
/// congestion control held back.
///
/// `Driver` derives from this and has, accessible to it:
///   static constexpr bool kSendsOnPost           whether post() sends; else transmit() does, later
///   bool port_free(Instant now)                  whether a packet may be sent now
///   auto& draft()                                where to build one, with a member `packet`
///   bool next_packet(qp, pair, now, Packet&)     QueuePair::next(), at the time that counts
///   void put_on_link(qp, draft, now)             sends the draft and its payload
///   void release(const Packet&)                  releases a received packet's payload
///
/// Members are in the header because each event of a simulation is one of them: calls cost a packet
/// and its ACK 30 instructions.
template <class Driver>
class QpScheduler : public QpSet {
 public:
  using QpSet::post;
  /// Sends at once if the port is free and the driver sends on a post.
  [[gnu::flatten]] bool post(std::uint32_t qp, const WorkRequest& request, Instant now) final {
    Slot& slot = slots_[qp];
    const bool taken = slot.pair->post(request, now);
    wake(qp, slot);
    if constexpr (Driver::kSendsOnPost) transmit(now);
    return taken;
  }
  void detach(std::uint32_t qp) override;

 protected:
  /// `burst`: packets after which a QP yields the port within a message; 1: after each packet.
  explicit QpScheduler(std::uint32_t burst) : burst_limit_(burst) {}

  /// Passes a received packet to its QP and releases its payload. `transmits`: the caller calls
  /// transmit() next, so that an answer may leave at once.
  void deliver(std::uint32_t qp, const Packet& packet, Instant now, bool transmits) {
    Slot& slot = slots_[qp];
    QueuePair& pair = *slot.pair;
    const bool answered = pair.receive(packet, now);
    driver().release(packet);
    report(qp, slot, pair.completions(), now);
    // A response may move the deadline, and so does a mark whose CNP takes time.
    if (answered || packet.congestion_experienced) set_timer(qp, slot, pair.deadline());
    if (!answered) report(qp, slot, pair.arrivals(), now);
    if (pair.has_control()) {
      answer(qp, slot, now, transmits);
    } else if (!slot.waiting && pair.wants_to_send()) {
      wake(qp, slot);
    }
  }
  void transmit(Instant now) {
    if (driver().port_free(now) && wants_port()) transmit_all(now);
  }
  [[nodiscard]] bool wants_port() const noexcept { return wanting_ > 0; }
  /// When run_timers() has something to do; kNever: nothing is set.
  [[nodiscard]] Instant next_timer() const noexcept { return timer_at_; }
  [[gnu::noinline]] void run_timers(Instant now);

 private:
  [[nodiscard]] Driver& driver() noexcept { return static_cast<Driver&>(*this); }

  void wake(std::uint32_t qp, Slot& slot) {
    if (slot.waiting) return;
    slot.waiting = true;
    ++wanting_;
    ready_.push(qp);
  }
  /// Sets an earlier timer. A later time takes effect when the timer that is set expires.
  void set_timer(std::uint32_t qp, Slot& slot, Instant at) {
    if (at < slot.timer) [[unlikely]]
      move_timer(qp, slot, at);
  }
  [[gnu::noinline]] void move_timer(std::uint32_t qp, Slot& slot, Instant at) {
    while (timers_.sources() <= qp) timers_.add();
    slot.timer = at;
    timers_.set(qp, at);
    timer_at_ = timers_.next_at();
  }
  /// Reports completions or arrivals to the application, which may post more meanwhile.
  void report(std::uint32_t qp, const Slot& slot, Fifo<Completion>& queue, Instant now) {
    while (!queue.empty()) {
      const Completion done = queue.front();
      queue.pop();
      if (slot.application) slot.application->on_completion(*this, qp, done, now);
    }
  }
  /// Sends the QP's ACK, NAK or CNP at once if no other QP wants the port; otherwise queues the QP
  /// as urgent.
  void answer(std::uint32_t qp, Slot& slot, Instant now, bool transmits) {
    if (transmits && !wants_port() && driver().port_free(now)) return send_control(qp, slot, now);
    if (std::exchange(slot.urgent, true)) return;
    ++wanting_;
    urgent_.push(qp);
  }
  [[gnu::noinline, gnu::flatten]] void transmit_all(Instant now) {
    do {
      send(next_sender(), now);
    } while (driver().port_free(now) && wants_port());
  }
  std::uint32_t next_sender();
  void send(std::uint32_t qp, Instant now);
  void send_control(std::uint32_t qp, Slot& slot, Instant now);
  void requeue(std::uint32_t qp, Slot& slot, std::uint8_t opcode);

  std::uint32_t burst_limit_;
  Fifo<std::uint32_t> ready_;   // QPs that may have a packet, in turn
  Fifo<std::uint32_t> urgent_;  // QPs with ACKs, NAKs or CNPs
  std::uint32_t wanting_ = 0;   // entries in both, and the keeper
  bool keeps_port_ = false;     // the keeper is within a message, or alone
  std::uint32_t keeper_ = 0;    // the QP that sent last in turn
  std::uint32_t burst_ = 0;     // packets that it has sent
  EventQueue timers_;           // a source is a QP
  Instant timer_at_ = kNever;   // the first of them
};

template <class Driver>
void QpScheduler<Driver>::detach(std::uint32_t qp) {
  const auto remove = [&](Fifo<std::uint32_t>& queue) {
    for (std::size_t i = queue.size(); i > 0; --i) {
      const std::uint32_t other = queue.front();
      queue.pop();
      other == qp ? void(--wanting_) : queue.push(other);
    }
  };
  remove(ready_);
  remove(urgent_);
  if (keeps_port_ && keeper_ == qp) {
    keeps_port_ = false;
    --wanting_;
  }
  move_timer(qp, slots_[qp], kNever);
  QpSet::detach(qp);
}

template <class Driver>
void QpScheduler<Driver>::run_timers(Instant now) {
  while (timer_at_ <= now) {
    const std::uint32_t qp = timers_.next_source();
    Slot& slot = slots_[qp];
    if (slot.pair->deadline() <= now) {
      slot.pair->expire(now);
      move_timer(qp, slot, kNever);
      report(qp, slot, slot.pair->completions(), now);
      set_timer(qp, slot, slot.pair->deadline());
    } else {
      move_timer(qp, slot, slot.pair->deadline());
    }
    wake(qp, slot);
  }
}

/// The QP whose turn it is. Requires wants_port().
template <class Driver>
std::uint32_t QpScheduler<Driver>::next_sender() {
  --wanting_;
  if (!urgent_.empty()) {
    const std::uint32_t qp = urgent_.front();
    urgent_.pop();
    slots_[qp].urgent = false;
    return qp;
  }
  const std::uint32_t qp = keeps_port_ ? keeper_ : ready_.front();
  if (!keeps_port_) {
    ready_.pop();
    burst_ = 0;
  }
  keeps_port_ = false;
  keeper_ = qp;
  slots_[qp].waiting = false;
  return qp;
}

/// After the QP has sent a packet: queues it again if it has more.
template <class Driver>
void QpScheduler<Driver>::requeue(std::uint32_t qp, Slot& slot, std::uint8_t opcode) {
  if (slot.waiting || !slot.pair->wants_to_send()) return;
  if (qp != keeper_ || keeps_port_) return wake(qp, slot);
  const bool ended = meaning_of(opcode).ends;
  if (ended || ++burst_ >= burst_limit_) {
    if (!ready_.empty()) return wake(qp, slot);
    burst_ = 0;  // alone: it is the next in turn, and needs no queue
  }
  keeps_port_ = slot.waiting = true;
  ++wanting_;
}

/// Sends the QP's next packet, if it has one that may go now.
template <class Driver>
void QpScheduler<Driver>::send(std::uint32_t qp, Instant now) {
  Slot& slot = slots_[qp];
  QueuePair& pair = *slot.pair;
  auto& draft = driver().draft();
  if (driver().next_packet(qp, pair, now, draft.packet)) {
    const std::uint8_t opcode = draft.packet.opcode;
    driver().put_on_link(qp, draft, now);
    set_timer(qp, slot, pair.deadline());
    requeue(qp, slot, opcode);
  } else {
    set_timer(qp, slot, pair.paced_until());
  }
  report(qp, slot, pair.completions(), now);
}

/// Sends the QP's ACK, NAK or CNP out of turn.
template <class Driver>
void QpScheduler<Driver>::send_control(std::uint32_t qp, Slot& slot, Instant now) {
  auto& draft = driver().draft();
  slot.pair->next_control(draft.packet);
  const std::uint8_t opcode = draft.packet.opcode;
  driver().put_on_link(qp, draft, now);
  requeue(qp, slot, opcode);
}

}  // namespace lw::transport
