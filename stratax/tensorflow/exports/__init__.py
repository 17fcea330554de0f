"""The host's part of exports, saved objects and SavedModels (tensorflow layer)."""
