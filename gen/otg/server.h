// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "gen/otg/engine_process.h"
#include "web/http.h"

namespace lw::gen::otg {

/// Version of the model whose rows the program has.
inline constexpr const char* kModelVersion = "1.61.0";

/// The requests of the model over HTTP, in version 1 of its transport. Any thread.
class OtgServer {
 public:
  /// `engine` outlives it. `version`: of the program.
  OtgServer(EngineProcess& engine, std::string version)
      : engine_(engine), version_(std::move(version)) {}
  OtgServer(const OtgServer&) = delete;
  OtgServer& operator=(const OtgServer&) = delete;

  /// The routes, each for Guard::program. The object outlives them.
  [[nodiscard]] std::vector<web::Route> routes();
  /// Longest body, and refusals as Errors of the model.
  [[nodiscard]] static web::Policy policy();

  /// The configuration that runs; an empty object if there is none.
  [[nodiscard]] Answer config() const;
  /// Checks a configuration, and runs it in place of the one that runs, which goes on if this one
  /// has a problem.
  Answer set_config(std::string_view body);
  /// Adds flows of packets to the configuration that runs, or removes them, while it runs.
  Answer append(std::string_view body);
  Answer remove(std::string_view body);
  /// A request to the configuration that runs.
  Answer ask(const std::string& path, std::string_view body);

 private:
  web::Route route(const char* path, web::Route::Kind kind,
                   std::function<Answer(std::string_view body)> answer);

  EngineProcess& engine_;
  std::string version_;
  mutable std::mutex mutex_;  // of config_
  nlohmann::ordered_json config_ = nlohmann::ordered_json::object();
};

}  // namespace lw::gen::otg
