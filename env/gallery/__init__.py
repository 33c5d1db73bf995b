"""Problems of engineering whose best knobs are known, each described as a user describes one.

Learning may not live here, and no other module of env imports it.
"""
