// JSON as programs that record results write it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace autotune {

// The order of parameters matters, since a template's parameters have the order of its space.
using OrderedJson = nlohmann::ordered_json;

// The name of the member for a document that is itself a list of results.
inline constexpr const char* kWholeDocument = "";

// A document of recorded results. As values it would take several times the memory of its text, so
// only the text is kept, and the values of one result at a time.
class RecordedDocument {
 public:
  // result_members: the members of the document that may hold results. Throws UsageError for a text
  // that is not a whole JSON document, unless it is a cache file of Kernel Tuner.
  RecordedDocument(std::string text, std::span<const std::string> result_members);

  // The document without its results: what would hold them is empty.
  [[nodiscard]] const OrderedJson& outline() const { return outline_; }
  // False for a cache file of Kernel Tuner that its search has not closed: the search goes on, or
  // was ended. An entry that it was about to write is left out.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

  // Visits the results of a member in their order. One that is a member of an object has a name.
  using Visit = std::function<void(const std::string& name, const OrderedJson& result)>;
  void visit_results(const std::string& member, const Visit& visit) const;

 private:
  std::string text_;
  OrderedJson outline_;
  bool is_whole_ = true;
};

}  // namespace autotune
