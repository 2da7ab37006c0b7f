//===- parse.cpp - Reads a graph's text -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/region_ops.h"

#include <charconv>

namespace ltc {

namespace {

bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '+' || c == '-';
}

template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

using Element = std::variant<Attribute, ValueId>;

/// Recursive descent. The first failure is kept and ends every rule: a rule
/// that returns false has set it.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text), rest(text) {}

  Result<Graph> run() {
    if (parseGraph())
      return std::move(graph);
    return std::move(*failure);
  }

private:
  // Characters and words.

  void skipSpace() {
    while (!rest.empty()) {
      if (rest.starts_with("//"))
        rest.remove_prefix(std::min(rest.size(), rest.find('\n')));
      else if (std::string_view(" \t\r\n").find(rest[0]) !=
               std::string_view::npos)
        rest.remove_prefix(1);
      else
        return;
    }
  }

  bool fail(std::string_view wanted) {
    if (failure)
      return false;
    skipSpace();
    std::string_view before = text.substr(0, text.size() - rest.size());
    size_t line = 1;
    for (char c : before)
      line += c == '\n';
    std::string found(rest.substr(0, std::min(rest.find('\n'), size_t(24))));
    if (found.empty())
      found = "the end";
    failure = Error{ErrorCode::InvalidArgument,
                    Stage::Graph,
                    "graph text, line " + std::to_string(line) + ": wanted " +
                        std::string(wanted) + ", found '" + found + "'",
                    "",
                    {},
                    ""};
    return false;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }

  bool expect(std::string_view token) {
    return accept(token) || fail("'" + std::string(token) + "'");
  }

  std::string_view peekWord(std::string_view extra = "") {
    skipSpace();
    size_t size = 0;
    while (size < rest.size() &&
           (isWordChar(rest[size]) || extra.find(rest[size]) != extra.npos))
      ++size;
    return rest.substr(0, size);
  }

  bool acceptWord(std::string_view word) {
    if (peekWord() != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }

  template <typename T> bool number(T &value, std::string_view wanted) {
    std::string_view word = peekWord();
    if (!parseNumber(word, value))
      return fail(wanted);
    rest.remove_prefix(word.size());
    return true;
  }

  static int hexDigit(char c) {
    if (c >= '0' && c <= '9')
      return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }

  bool escape(std::string &value) {
    if (rest.size() >= 2 && (rest[1] == '"' || rest[1] == '\\')) {
      value += rest[1];
      rest.remove_prefix(2);
      return true;
    }
    if (rest.size() < 4 || rest[1] != 'x' || hexDigit(rest[2]) < 0 ||
        hexDigit(rest[3]) < 0)
      return fail("an escape: \\\", \\\\ or \\x and two digits");
    value += char(hexDigit(rest[2]) * 16 + hexDigit(rest[3]));
    rest.remove_prefix(4);
    return true;
  }

  bool string(std::string &value) {
    if (!accept("\""))
      return fail("a string");
    while (!rest.empty() && rest[0] != '"') {
      if (rest[0] == '\\') {
        if (!escape(value))
          return false;
        continue;
      }
      value += rest[0];
      rest.remove_prefix(1);
    }
    return expect("\"");
  }

  // Types and values.

  bool dtype(DType &value) {
    std::string_view word = peekWord();
    std::optional<DType> known = parseDType(word);
    if (!known)
      return fail("an element type");
    value = *known;
    rest.remove_prefix(word.size());
    return true;
  }

  /// A number or a formula of symbols that stand before.
  bool size(int64_t &value) {
    std::string_view word = peekWord("*");
    std::optional<Formula> formula;
    if (!parseNumber(word, value)) {
      formula = Formula::parse(word);
      if (!formula || formula->symbolCount() > graph.symbols.size())
        return false;
      value = graph.sizeOf(*formula);
    } else if (isSymbolic(value)) {
      return false; // means something else than it says
    }
    rest.remove_prefix(word.size());
    return true;
  }

  bool tensorType(TensorType &type) {
    if (!dtype(type.dtype) || !expect("["))
      return false;
    if (accept("]"))
      return true;
    do {
      int64_t dim = 0;
      if (!size(dim) || (dim < 0 && !isSymbolic(dim)))
        return fail("a dimension");
      type.dims.push_back(dim);
    } while (accept(","));
    return expect("]");
  }

  bool valueType(ValueType &type) {
    type.isScalar = acceptWord("scalar");
    return type.isScalar ? dtype(type.tensor.dtype) : tensorType(type.tensor);
  }

  bool valueId(ValueId &value) {
    return expect("%") && number(value, "a value's number");
  }

  /// One attribute that is no list.
  bool atom(Attribute &value) {
    skipSpace();
    if (rest.starts_with('"'))
      return string(value.emplace<std::string>());
    int64_t integer;
    if (size(integer)) {
      value = integer;
      return true;
    }
    std::string_view word = peekWord();
    double real;
    if (parseNumber(word, integer)) // see size()
      return fail("a value");
    if (word == "none")
      value = std::monostate();
    else if (word == "true" || word == "false")
      value = word == "true";
    else if (parseNumber(word, real))
      value = real;
    else if (std::optional<DType> known = parseDType(word))
      value = *known;
    else
      return fail("a value");
    rest.remove_prefix(word.size());
    return true;
  }

  template <typename T>
  static bool convertList(const std::vector<Element> &elements,
                          Argument &argument) {
    std::vector<T> list;
    for (const Element &element : elements) {
      auto *attribute = std::get_if<Attribute>(&element);
      auto *value = attribute ? std::get_if<T>(attribute) : nullptr;
      if (!value)
        return false;
      list.push_back(*value);
    }
    argument.value = Attribute(std::move(list));
    return true;
  }

  static bool convertValues(const std::vector<Element> &elements,
                            Argument &argument) {
    std::vector<ValueId> list;
    for (const Element &element : elements) {
      auto *attribute = std::get_if<Attribute>(&element);
      if (attribute && !std::holds_alternative<std::monostate>(*attribute))
        return false;
      list.push_back(attribute ? kNoValue : std::get<ValueId>(element));
    }
    argument.value = std::move(list);
    return true;
  }

  /// What follows "[".
  bool list(Argument &argument) {
    std::vector<Element> elements;
    do {
      Element element;
      if (accept("%")) {
        if (!number(element.emplace<ValueId>(), "a value's number"))
          return false;
      } else if (!atom(element.emplace<Attribute>())) {
        return false;
      }
      elements.push_back(std::move(element));
    } while (accept(","));
    if (convertList<int64_t>(elements, argument) ||
        convertList<double>(elements, argument) ||
        convertList<bool>(elements, argument) ||
        convertValues(elements, argument))
      return expect("]");
    return fail("a list of one kind before");
  }

  bool argument(Argument &argument) {
    std::string_view word = peekWord();
    argument.name = word;
    rest.remove_prefix(word.size());
    if (word.empty() || !expect("="))
      return fail("an argument's name and '='");
    if (accept("[]"))
      argument.value = Attribute(std::vector<int64_t>());
    else if (accept("floats[]"))
      argument.value = Attribute(std::vector<double>());
    else if (accept("bools[]"))
      argument.value = Attribute(std::vector<bool>());
    else if (accept("values[]"))
      argument.value = std::vector<ValueId>();
    else if (accept("["))
      return list(argument);
    else if (accept("%"))
      return number(argument.value.emplace<ValueId>(), "a value's number");
    else
      return atom(argument.value.emplace<Attribute>());
    return true;
  }

  // Statements.

  bool source(SourceId &id) {
    Source place;
    if (!string(place.file) || !expect(":") ||
        !number(place.line, "a line number"))
      return false;
    skipSpace();
    if (rest.starts_with('"') && !string(place.function))
      return false;
    id = internSource(place);
    return true;
  }

  bool node(size_t resultCount) {
    Node &node = graph.nodes.emplace_back();
    std::string_view op = peekWord(":");
    node.op = op;
    rest.remove_prefix(op.size());
    if (op.empty() || !expect("("))
      return fail("an op and '('");
    if (!accept(")")) {
      do {
        if (!argument(node.arguments.emplace_back()))
          return false;
      } while (accept(","));
      if (!expect(")"))
        return false;
    }
    if (!expect(":"))
      return false;
    for (size_t i = 0; i < resultCount; ++i)
      if ((i && !expect(",")) || !tensorType(node.results.emplace_back()))
        return false;
    if (hasRegions(node))
      noteRegionFormulas(graph, node);
    return !acceptWord("loc") || source(node.source);
  }

  /// "%3, %4 = …": the numbers must be the next ones.
  bool definition() {
    size_t count = 0;
    do {
      ValueId id;
      if (!valueId(id))
        return false;
      if (id != next + count)
        return fail("value %" + std::to_string(next + count) + " before");
      ++count;
    } while (accept(","));
    next += count;
    if (!expect("="))
      return false;
    if (!acceptWord("input"))
      return node(count);
    if (count != 1 || !graph.nodes.empty())
      return fail("inputs one at a time, before every node");
    return valueType(graph.inputs.emplace_back());
  }

  /// "symbol s0 = 32": the next symbol and its hint.
  bool symbol() {
    size_t number = graph.symbols.size();
    std::string name = "s" + std::to_string(number);
    if (next || !graph.outputs.empty() || number >= Formula::maxSymbols)
      return fail("symbols before everything else");
    return (acceptWord(name) || fail(name)) && expect("=") &&
           this->number(graph.symbols.emplace_back(), "a hint");
  }

  bool statement() {
    if (acceptWord("symbol"))
      return symbol();
    return acceptWord("output") ? output() : definition();
  }

  bool output() {
    GraphOutput &output = graph.outputs.emplace_back();
    if (!valueId(output.value))
      return false;
    return !acceptWord("donates") || valueId(output.donated.emplace());
  }

  bool parseGraph() {
    if (!expect("graph") || !expect("{"))
      return false;
    while (!accept("}"))
      if (!statement())
        return false;
    skipSpace();
    return rest.empty() || fail("nothing after the graph");
  }

  std::string_view text, rest;
  Graph graph;
  size_t next = 0;
  std::optional<Error> failure;
};

} // namespace

Result<Graph> Graph::parse(std::string_view text) { return Parser(text).run(); }

} // namespace ltc
