// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "net/address.h"

namespace lw::web {

/// Where HTTP is served: an address in numbers and a port, and the names of the machine that a
/// client may use instead.
struct Address {
  std::string address;  // "127.0.0.1", "::1", without brackets
  std::uint16_t port = 0;
  net::Host host{};                     // `address` in bytes
  std::vector<std::string> names = {};  // none: the address only

  /// Reads the address of a page: "9092" at 127.0.0.1, "192.0.2.1:9092", "[::1]:9092". Error:
  /// another form.
  /// `option`: for the message of an error.
  static Result<Address> of_page(const std::string& text, std::string_view option = "--web");
  /// Reads the address of metrics: "127.0.0.1:9091", "[::1]:9091", "box.example:9091". The
  /// machine's own name is one of its `names`. Errors: another form (usage); an unknown name
  /// (environment).
  static Result<Address> of_metrics(const std::string& text);
  /// "127.0.0.1:9092", "[::1]:9092".
  [[nodiscard]] std::string text() const { return net::address_text(address, port); }
};

/// Who may send a request.
enum class Guard : std::uint8_t {
  scraper,  // programs, and pages of our own address: Host is ours, or there is none
  page,     // Host is ours: the page itself, which has no data in it
  token,    // and the token is there, Origin is the page's or absent: what shows the run
  change,   // and Origin is there: what may change the run
  program,  // programs only: Host is ours or absent, Origin is absent; the token, if there is one
};

/// Who may use a server: requests with the token, sent to an address of ours (a name that an
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
  /// Returns nothing if the request may be answered.
  [[nodiscard]] std::optional<Refusal> refuse(Guard guard, const Headers& headers) const;

 private:
  [[nodiscard]] bool is_our_host(std::string_view host) const;

  Address address_;
  std::string token_;
};

}  // namespace lw::web
