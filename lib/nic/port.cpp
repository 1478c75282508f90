// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <future>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <utility>

#include <fmt/core.h>
#include <rte_alarm.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "core/output.h"
#include "core/quantity.h"
#include "nic/clock.h"
#include "nic/packet_port.h"

namespace lw::nic {
namespace {

/// A memif client waits kFirstMemifRetry for the answer to its request, then sends the request
/// again. Each further wait is twice as long, at most kLastMemifRetry, because a busy machine may
/// answer late.
constexpr Duration kFirstMemifRetry = std::chrono::milliseconds(40);
constexpr Duration kLastMemifRetry = std::chrono::milliseconds(320);

/// Time for the other side to read the frames in the shared rings.
constexpr Duration kMemifDrain = std::chrono::milliseconds(100);

// Bytes before an IP packet: Ethernet header and up to two VLAN tags. The device adds the FCS.
constexpr std::uint32_t kLinkOverhead = 14 + 2 * 4;

/// Returns an error. `remedy`: text to append, or empty.
std::unexpected<Error> refuse(const Eal& eal, const std::string& port, std::string_view step,
                              int code, std::string_view remedy = "") {
  const std::string said = eal.said();
  const std::string_view quote = remedy.empty() ? "; DPDK says:" : "\nDPDK says:";
  return fail(fmt::format("port `{}`: {}: {}{}{}{}", port, step, rte_strerror(-code), remedy,
                          said.empty() ? "" : quote, said),
              ExitCode::environment);
}

/// Returns the remedy if a PCI device did not open because of its kernel driver, as text to append;
/// empty if DPDK can use the driver.
std::string how_to_bind(const std::string& address) {
  constexpr std::array<std::string_view, 6> kUsable = {"vfio-pci",  "igb_uio",   "uio_pci_generic",
                                                       "mlx4_core", "mlx5_core", "mana"};
  const std::string device = "/sys/bus/pci/devices/" + address;
  std::error_code none;
  const auto driver = std::filesystem::read_symlink(device + "/driver", none).filename().string();
  if (std::ranges::find(kUsable, driver) != kUsable.end()) return {};
  return fmt::format(
      "; it is bound to {}; expected vfio-pci, which takes the device from the kernel. As root:\n"
      "  modprobe vfio-pci; echo vfio-pci > {}/driver_override; {}echo {} > "
      "/sys/bus/pci/drivers_probe",
      driver.empty() ? "no driver" : "the kernel's driver " + driver, device,
      driver.empty() ? "" : fmt::format("echo {} > {}/driver/unbind; ", address, device), address);
}

/// Sets the MTU to the pool's largest frame where the device supports it. (af_packet reports 1518
/// but carries what its ring slot holds.)
rte_eth_conf configuration_for(const rte_eth_dev_info& info, std::uint32_t frame_size) {
  rte_eth_conf conf{};
  const std::uint32_t wanted = frame_size - kLinkOverhead;
  const bool settable = info.max_mtu > RTE_ETHER_MTU && info.max_rx_pktlen > RTE_ETHER_MAX_LEN;
  if (settable && wanted > RTE_ETHER_MTU)
    conf.rxmode.mtu =
        std::min<std::uint32_t>({wanted, info.max_mtu, info.max_rx_pktlen - kLinkOverhead});
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  return conf;
}

/// Returns the condition for a port's link, for an error message.
std::string what_it_waits_for(std::string_view name,
                              const std::optional<NetworkInterface>& interface) {
  if (interface && !interface->is_up())
    return fmt::format(": the interface is down: ip link set dev {} up", interface->name());
  if (interface) return ": the interface has no carrier: is the other end up?";
  const auto spec = parse_port_spec(name);
  const auto* memif = spec ? spec->as<MemifPort>() : nullptr;
  if (memif && !memif->server)
    return "; the other side needs `,server` behind the same path, and must be running";
  if (spec && spec->as<VhostPort>())
    return "; QEMU must use the same socket, and its guest must have set the interface up";
  return "";
}

void sleep_ns(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

/// Runs `work` in DPDK's interrupt thread and waits for it. memif's driver answers its peer there,
/// and crashes if a port is started, stopped or closed at the same time.
void run_in_interrupt_thread(std::function<void()> work) {
  struct Job {
    std::function<void()> work;
    std::promise<void> done;
  } job{std::move(work), {}};
  const auto run = [](void* argument) {
    auto* asked = static_cast<Job*>(argument);
    asked->work();
    asked->done.set_value();
  };
  if (rte_eal_alarm_set(1, run, &job) != 0) return job.work();
  job.done.get_future().wait();
}

/// The threads that are in a burst of a memif port. When a peer leaves, the driver marks the port
/// as disconnected and then unmaps its memory, in another thread and without waiting for bursts in
/// progress. Our munmap() below waits for them.
class MemifBursts {
 public:
  /// While this object lives, the calling thread is in a burst.
  class Burst {
   public:
    Burst() noexcept : flag_(own_flag()) { flag_.store(true); }
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    ~Burst() { flag_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& flag_;
  };

  /// Waits until all bursts of other threads that have begun have ended.
  static void wait() noexcept {
    const unsigned threads = std::min<unsigned>(threads_.load(), kMost);
    for (unsigned i = 0; i < threads; ++i)
      while (i != own_ && flags_[i].busy.load()) sched_yield();
  }

 private:
  static constexpr unsigned kMost = 64, kNone = ~0U;
  struct alignas(64) Flag {
    std::atomic<bool> busy;  // false
  };
  static std::atomic<bool>& own_flag() noexcept {
    if (own_ == kNone) own_ = std::min(threads_.fetch_add(1), kMost - 1);
    return flags_[own_].busy;
  }

  static inline std::array<Flag, kMost> flags_;
  static inline std::atomic<unsigned> threads_{0};
  static inline thread_local unsigned own_ = kNone;
};

}  // namespace

Result<Port> Port::open(const Eal& eal, const PortSpec& spec, const Pool& pool,
                        const PortConfig& config) {
  if (const auto* interface = packet_port_of(spec)) {
    if (auto there = check_interface(*interface); !there) return std::unexpected(there.error());
    auto opened = PacketPort::open(spec, pool, config.send_queues);
    if (!opened) return std::unexpected(opened.error());
    Port port(kNone, spec);
    port.packet_port_ = std::move(*opened);
    port.plain_ = false;
    port.started_ = true;
    return port;
  }
  static int ordinal = 0;
  auto device = device_arguments(spec, ordinal++, pool.config().frame_size);
  if (!device) return std::unexpected(device.error());
  eal.forget();
  std::uint16_t id = kNone;
  const auto* pci = spec.as<PciPort>();
  // DPDK already probes PCI devices when it starts; probing again gives an error.
  const bool probed = pci && rte_eth_dev_get_port_by_name(device->name.c_str(), &id) == 0;
  if (const int code = probed ? 0 : rte_dev_probe(device->arguments.c_str()); code < 0)
    return refuse(eal, spec.text, "did not open", code, pci ? how_to_bind(pci->address) : "");
  if (const int code = rte_eth_dev_get_port_by_name(device->name.c_str(), &id); code < 0)
    return refuse(eal, spec.text, "opened, but brought no Ethernet device", code);
  Port port(id, spec);
  if (auto configured = port.configure(eal, pool, config); !configured)
    return std::unexpected(configured.error());
  return port;
}

Port::Port(std::uint16_t id, const PortSpec& spec) : id_(id), name_(spec.text) {
  if (const auto* memif = spec.as<MemifPort>()) {
    memif_ = true;
    memif_client_ = !memif->server;
  }
  if (const auto* linux_port = spec.as<InterfacePort>()) interface_.emplace(linux_port->interface);
  send_limit_ = frame_limit(spec).value_or(0);
  plain_ = send_limit_ == 0 && !memif_;
  if (const auto* files = spec.as<PcapPort>()) output_ = files->out;
  pci_ = spec.as<PciPort>() != nullptr;
  finite_ = spec.as<PcapPort>() || spec.as<NullPort>();
}

Result<void> Port::configure(const Eal& eal, const Pool& pool, const PortConfig& config) {
  rte_eth_dev_info info;
  if (const int code = rte_eth_dev_info_get(id_, &info); code < 0)
    return refuse(eal, name_, "tells nothing about itself", code);
  auto conf = configuration_for(info, pool.config().frame_size);
  // The device looks for the field when it starts, so register it before.
  constexpr std::uint64_t kTimed = RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
  if (config.timed_sending && (info.tx_offload_capa & kTimed) != 0 &&
      rte_mbuf_dyn_tx_timestamp_register(&time_field_, &time_flag_) == 0) {
    conf.txmode.offloads |= kTimed;
  }
  if (config.send_queues > info.max_tx_queues)
    return fail(
        fmt::format("port `{}` has {} send queue{}, and {} are wanted: one a core", name_,
                    info.max_tx_queues, info.max_tx_queues == 1 ? "" : "s", config.send_queues),
        ExitCode::environment);
  if (const int code = rte_eth_dev_configure(id_, 1, config.send_queues, &conf); code < 0)
    return refuse(eal, name_, "can't be configured", code);
  std::uint16_t receive_ring = config.receive_ring, send_ring = config.send_ring;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receive_ring, &send_ring);
  const auto socket = static_cast<unsigned>(SOCKET_ID_ANY);
  if (const int code = rte_eth_rx_queue_setup(id_, 0, receive_ring, socket, nullptr, pool.get());
      code < 0)
    return refuse(eal, name_, "can't receive into this pool", code);
  for (std::uint16_t queue = 0; queue < config.send_queues; ++queue) {
    if (const int code = rte_eth_tx_queue_setup(id_, queue, send_ring, socket, nullptr); code < 0)
      return refuse(eal, name_, "can't send", code);
  }
  const int code = rte_eth_dev_start(id_);
  started_ = code == 0;
  // A memif client can't start before its server is there; wait_link() tries again.
  if (!started_ && !memif_client_) return refuse(eal, name_, "did not start", code);
  // The programs receive all frames. A device without a filter may report an error.
  rte_eth_promiscuous_enable(id_);
  return {};
}

Port::Port(Port&& other) noexcept
    : packet_port_(std::move(other.packet_port_)),
      plain_(other.plain_),
      send_limit_(other.send_limit_),
      too_long_(std::move(other.too_long_)),
      id_(std::exchange(other.id_, kNone)),
      time_field_(other.time_field_),
      time_flag_(other.time_flag_),
      finite_(other.finite_),
      idle_(other.idle_),
      memif_(other.memif_),
      memif_client_(other.memif_client_),
      pci_(other.pci_),
      started_(std::exchange(other.started_, false)),
      name_(std::move(other.name_)),
      interface_(std::move(other.interface_)),
      output_(std::move(other.output_)) {}

Port& Port::operator=(Port&& other) noexcept {
  if (this == &other) return *this;
  close();
  packet_port_ = std::move(other.packet_port_);
  plain_ = other.plain_;
  send_limit_ = other.send_limit_;
  too_long_ = std::move(other.too_long_);
  id_ = std::exchange(other.id_, kNone);
  time_field_ = other.time_field_;
  time_flag_ = other.time_flag_;
  finite_ = other.finite_;
  idle_ = other.idle_;
  memif_ = other.memif_;
  memif_client_ = other.memif_client_;
  pci_ = other.pci_;
  started_ = std::exchange(other.started_, false);
  name_ = std::move(other.name_);
  interface_ = std::move(other.interface_);
  output_ = std::move(other.output_);
  return *this;
}

Port::~Port() { close(); }

void Port::close() noexcept {
  packet_port_.reset();
  if (id_ == kNone) return;
  // Closing removes the shared rings with all frames that the other side hasn't read; memif doesn't
  // report their number.
  if (memif_ && started_ && link_up() && stats().sent > 0) sleep_ns(kMemifDrain.count());
  rte_eth_stats sent{};
  if (!output_.empty()) rte_eth_stats_get(id_, &sent);
  const auto end = [this] {
    if (started_) rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
  };
  memif_ ? run_in_interrupt_thread(end) : end();
  id_ = kNone;
  if (!output_.empty()) check_output(sent);
}

/// Compares the size of the capture that DPDK writes with what was sent, because DPDK ignores write
/// errors.
void Port::check_output(const rte_eth_stats& sent) const noexcept {
  constexpr std::uint64_t kFileHeader = 24, kRecordHeader = 16;
  const std::uint64_t whole = kFileHeader + kRecordHeader * sent.opackets + sent.obytes;
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(output_, unknown)) return;
  const std::uint64_t size = std::filesystem::file_size(output_, unknown);
  if (unknown || size >= whole) return;
  report_at_end(fail(fmt::format("{}: cannot be written: {} of {} bytes are in it, and its last "
                                 "record may be cut",
                                 output_, size, whole),
                     ExitCode::environment));
}

std::size_t Port::receive_checked(std::span<rte_mbuf*> out) noexcept {
  if (packet_port_) return packet_port_->receive(out);
  std::optional<MemifBursts::Burst> burst;
  if (memif_) burst.emplace();
  return rte_eth_rx_burst(id_, 0, out.data(), static_cast<std::uint16_t>(out.size()));
}

/// Refuses long frames: DPDK's AF_XDP driver would write them beyond the end of their buffers.
std::size_t Port::send_checked(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  if (packet_port_) return packet_port_->send(frames, queue);
  if (memif_) {
    const MemifBursts::Burst burst;
    return rte_eth_tx_burst(id_, queue, frames.data(), static_cast<std::uint16_t>(frames.size()));
  }
  std::size_t done = 0;
  while (done < frames.size()) {
    const auto rest = frames.subspan(done);
    const auto fits = [this](const rte_mbuf* frame) { return frame->pkt_len <= send_limit_; };
    const auto count =
        static_cast<std::uint16_t>(std::ranges::find_if_not(rest, fits) - rest.begin());
    const std::uint16_t sent = rte_eth_tx_burst(id_, queue, rest.data(), count);
    done += sent;
    if (sent < count || done == frames.size()) break;
    rte_pktmbuf_free(frames[done]);
    too_long_->add();
    ++done;
  }
  return done;
}

void Port::end_receiving() {
  if (packet_port_) packet_port_->end_receiving();
}

bool Port::link_up() const noexcept {
  if (packet_port_) return interface_->is_running();
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

Port::LinkState Port::link_state() const noexcept {
  if (interface_) {
    const unsigned index = interface_->index();
    if (index == 0 || (packet_port_ && index != packet_port_->bound_to())) return LinkState::gone;
    if (interface_->is_running()) return LinkState::up;
    return interface_->is_lasting() ? LinkState::down : LinkState::gone;
  }
  return pci_ && !link_up() ? LinkState::down : LinkState::up;
}

bool Port::bind_again() { return packet_port_ && packet_port_->bind_again(); }

bool Port::set_link(bool up) noexcept {
  if (interface_) return interface_->set_up(up);
  return (up ? rte_eth_dev_set_link_up(id_) : rte_eth_dev_set_link_down(id_)) == 0;
}

/// A memif client sends one request when it starts. If the server's device isn't ready, the request
/// is refused for good (4 of 25 times on a loaded machine), so the client starts again.
void Port::restart() noexcept {
  run_in_interrupt_thread([this] {
    if (started_ && link_up()) return;  // answered in the meantime
    if (started_) rte_eth_dev_stop(id_);
    started_ = rte_eth_dev_start(id_) == 0;
  });
}

Result<void> Port::wait_link(Duration timeout, const std::atomic<bool>& cancelled,
                             const std::function<void()>& meanwhile) {
  const Instant give_up = now() + timeout;
  Duration retry = kFirstMemifRetry;
  Instant next_try = started_ ? now() + retry : now();
  while (!started_ || !link_up()) {
    if (memif_client_ && now() >= next_try) {
      restart();
      next_try = now() + retry;
      retry = std::min(2 * retry, kLastMemifRetry);
    }
    if (cancelled.load()) return fail("stopped while waiting for a link", ExitCode::failed);
    if (now() >= give_up)
      return fail(fmt::format("port `{}`: no link within {}{}", name_, format_duration(timeout),
                              what_it_waits_for(name_, interface_)),
                  ExitCode::environment);
    if (meanwhile) meanwhile();
    sleep_ns(5'000'000);
  }
  // No one has received before.
  if (packet_port_) packet_port_->restart_counts();
  return {};
}

std::optional<double> Port::link_bps() const {
  constexpr double kMega = 1e6;
  if (interface_) return interface_->bps();
  const auto spec = parse_port_spec(name_);
  if (!spec) return std::nullopt;
  if (spec->as<PciPort>() == nullptr) return std::nullopt;
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return std::nullopt;
  if (link.link_speed == RTE_ETH_SPEED_NUM_NONE || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
    return std::nullopt;
  return link.link_speed * kMega;
}

std::optional<TimedSending> Port::timed_sending() const {
  constexpr Duration kApart = std::chrono::milliseconds(10);
  const auto device = [id = id_]() -> std::optional<std::uint64_t> {
    std::uint64_t tick = 0;
    if (rte_eth_read_clock(id, &tick) != 0) return std::nullopt;
    return tick;
  };
  SendClock clock(device, [] { return now(); });
  if (!clock.start(kApart)) return std::nullopt;
  return TimedSending(time_field_, time_flag_, std::move(clock));
}

std::array<std::byte, 6> Port::mac_address() const noexcept {
  if (packet_port_) return interface_->mac_address().value_or(std::array<std::byte, 6>{});
  rte_ether_addr address{};
  rte_eth_macaddr_get(id_, &address);
  return std::bit_cast<std::array<std::byte, 6>>(address);
}

std::optional<std::uint32_t> Port::mtu() const noexcept {
  return interface_ ? interface_->mtu() : std::nullopt;
}

PortStats Port::stats() const {
  if (packet_port_) return packet_port_->stats();
  rte_eth_stats s{};
  rte_eth_stats_get(id_, &s);
  return {.received = s.ipackets,
          .sent = s.opackets,
          .missed = s.imissed,
          .no_buffer = s.rx_nombuf,
          .receive_errors = s.ierrors,
          .send_errors = s.oerrors,
          .unsent_too_long = too_long_->get()};
}

}  // namespace lw::nic

// Replacements of two functions of the C library for the whole process. Without them DPDK's memif
// driver would end the program.

extern "C" int munmap(void* address, std::size_t length) noexcept {
  static const auto next =
      reinterpret_cast<int (*)(void*, std::size_t)>(dlsym(RTLD_NEXT, "munmap"));
  lw::nic::MemifBursts::wait();
  return next(address, length);
}

/// Reports a message to a memif client that has left as sent. If sendmsg() fails, the driver closes
/// the socket but keeps waiting for it, and DPDK ends the program; reading the socket finds that
/// the client left. Only memif uses sockets of this type here.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto next =
      reinterpret_cast<ssize_t (*)(int, const msghdr*, int)>(dlsym(RTLD_NEXT, "sendmsg"));
  const ssize_t sent = next(socket, message, flags | MSG_NOSIGNAL);
  int type = 0;
  socklen_t size = sizeof type;
  if (sent >= 0 || (errno != EPIPE && errno != ECONNRESET)) return sent;
  const int why = errno;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    errno = why;
    return sent;
  }
  return static_cast<ssize_t>(message->msg_iov->iov_len);
}
