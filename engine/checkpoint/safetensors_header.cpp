#include "engine/checkpoint/safetensors_header.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kMaxRank = 8; // no tensor of a model has more; bounds memory

/// Receives the header's JSON as events. The snake_case names are nlohmann's.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json>
{
public:
    explicit HeaderEvents(const std::string& file)
        : m_file(file)
    {
    }
    std::vector<SafetensorsEntry> takeEntries() { return std::move(m_entries); }

    bool null() override { wrongKind("null"); }
    bool boolean(bool) override { wrongKind("a boolean"); }
    bool number_integer(number_integer_t) override { wrongKind("a negative number"); }
    bool number_float(number_float_t, const string_t&) override
    {
        wrongKind("a fraction, or a number beyond 64 bits");
    }
    bool binary(binary_t&) override { wrongKind("binary data"); }

    bool number_unsigned(number_unsigned_t value) override
    {
        if (m_place != Place::Shape && m_place != Place::Offsets)
            wrongKind("a number");
        auto& list = m_place == Place::Shape ? m_entries.back().shape : m_offsets;
        if (list.size() == (m_place == Place::Shape ? kMaxRank : 2))
            fail(m_place == Place::Shape ? "shape has more than 8 dimensions"
                                         : "data_offsets has more than two numbers");
        list.push_back(value);
        return true;
    }

    bool string(string_t& value) override
    {
        if (m_place == Place::Tensor && m_field == "dtype")
            m_entries.back().dtype = std::move(value);
        else if (m_place != Place::Metadata)
            wrongKind("text");
        return true;
    }

    bool key(string_t& name) override
    {
        switch (m_place) {
        case Place::Root:
            startEntry(name);
            break;
        case Place::Metadata:
            if (!m_metadataKeys.insert(name).second)
                failIn(m_file, "__metadata__ has the key " + printable(name) + " twice");
            break;
        default:
            if (name != "dtype" && name != "shape" && name != "data_offsets")
                fail("has the unknown key " + printable(name));
            if (!m_fieldsSeen.insert(name).second)
                fail("has the key " + name + " twice");
            m_field = name;
        }
        return true;
    }

    bool start_object(std::size_t) override
    {
        if (m_place == Place::Start)
            m_place = Place::Root;
        else if (m_place == Place::Root)
            m_place = m_isMetadata ? Place::Metadata : Place::Tensor;
        else
            wrongKind("an object");
        return true;
    }

    bool end_object() override
    {
        if (m_place == Place::Tensor)
            finishEntry();
        m_place = m_place == Place::Root ? Place::Done : Place::Root;
        return true;
    }

    bool start_array(std::size_t) override
    {
        if (m_place != Place::Tensor || (m_field != "shape" && m_field != "data_offsets"))
            wrongKind("a list");
        m_place = m_field == "shape" ? Place::Shape : Place::Offsets;
        return true;
    }

    bool end_array() override
    {
        m_place = Place::Tensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override
    {
        throw CheckpointError(oneLine(m_file) + ": the header is not valid JSON at its byte " +
                                  std::to_string(position),
                              error.what());
    }

private:
    enum class Place { Start, Root, Metadata, Tensor, Shape, Offsets, Done };

    void startEntry(const std::string& name)
    {
        if (!m_names.insert(name).second)
            failIn(m_file, "the header names " + printable(name) + " twice");
        m_isMetadata = name == "__metadata__";
        m_fieldsSeen.clear();
        m_offsets.clear();
        if (!m_isMetadata)
            m_entries.emplace_back().name = name;
    }

    void finishEntry()
    {
        for (const char* field : {"dtype", "shape", "data_offsets"})
            if (!m_fieldsSeen.contains(field))
                fail(std::string("has no ") + field);
        if (m_offsets.size() != 2)
            fail("data_offsets must be two numbers, the first and the end byte");
        m_entries.back().begin = m_offsets[0];
        m_entries.back().end = m_offsets[1];
    }

    [[noreturn]] void fail(const std::string& why) const
    {
        failIn(m_file, printable(m_entries.back().name) + " " + why);
    }
    [[noreturn]] void wrongKind(const std::string& found) const
    {
        if (m_place == Place::Start)
            failIn(m_file, "the header is " + found + ", not an object");
        if (m_place == Place::Root && m_isMetadata)
            failIn(m_file, "__metadata__ is " + found + ", not an object");
        if (m_place == Place::Metadata)
            failIn(m_file, "__metadata__ may hold text only and has " + found);
        if (m_place == Place::Root)
            fail("is " + found + " in the header, not an object");
        fail(m_field + " has " + found + ", which does not belong there");
    }

    const std::string& m_file;
    std::vector<SafetensorsEntry> m_entries;
    std::unordered_set<std::string> m_names;
    std::unordered_set<std::string> m_metadataKeys;
    std::set<std::string> m_fieldsSeen;
    std::vector<std::uint64_t> m_offsets;
    std::string m_field;
    Place m_place = Place::Start;
    bool m_isMetadata = false;
};

} // namespace

std::vector<SafetensorsEntry> parseSafetensorsHeader(std::string_view json, const std::string& file)
{
    HeaderEvents events(file);
    nlohmann::json::sax_parse(json.begin(), json.end(), &events);
    return events.takeEntries();
}

} // namespace kvscope
