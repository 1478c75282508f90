// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace lw::web {

/// Where the live page is served: a numeric address, 127.0.0.1 unless stated, and a port.
struct Address {
  std::string address;  // "127.0.0.1", "::1", without brackets
  std::uint16_t port = 0;
  bool loopback = true;  // only this machine reaches it
  bool any = false;      // all addresses of the machine: 0.0.0.0, ::

  /// "9092", "192.0.2.1:9092", "[::1]:9092". Error: another form.
  static Result<Address> parse(const std::string& text);
  /// "127.0.0.1:9092", "[::1]:9092".
  [[nodiscard]] std::string text() const;
};

/// Who may use the live page: requests with the token, sent to an address of ours (a name that an
/// attacker's DNS points here is none), and changes from our own page only.
class Access {
 public:
  Access(Address address, std::string token)
      : address_(std::move(address)), token_(std::move(token)) {}

  /// What a request's headers say; empty where one is absent.
  struct Headers {
    std::string host, origin, authorization;
  };
  struct Refusal {
    int status;
    std::string reason;
  };
  /// The page itself, which has no data in it. nullopt: it may be read.
  [[nodiscard]] std::optional<Refusal> refuse_page(const Headers& headers) const;
  /// What shows the run, by the token.
  [[nodiscard]] std::optional<Refusal> refuse_query(const Headers& headers) const;
  /// What may change the run: Origin must be there, and must be the page's.
  [[nodiscard]] std::optional<Refusal> refuse_change(const Headers& headers) const;

 private:
  [[nodiscard]] bool is_our_host(std::string_view host) const;

  Address address_;
  std::string token_;
};

}  // namespace lw::web
