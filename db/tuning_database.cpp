#include "db/tuning_database.hpp"
